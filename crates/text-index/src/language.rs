//! The languages that words are stemmed in, and their most frequent words.

use rust_stemmers::Algorithm;

/// A language with a Snowball stemmer, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Language {
    Arabic,
    Danish,
    Dutch,
    #[default]
    English,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
    /// Words are found as they are written.
    None,
}

impl Language {
    pub const ALL: [Language; 19] = [
        Language::Arabic,
        Language::Danish,
        Language::Dutch,
        Language::English,
        Language::Finnish,
        Language::French,
        Language::German,
        Language::Greek,
        Language::Hungarian,
        Language::Italian,
        Language::Norwegian,
        Language::Portuguese,
        Language::Romanian,
        Language::Russian,
        Language::Spanish,
        Language::Swedish,
        Language::Tamil,
        Language::Turkish,
        Language::None,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Language::Arabic => "arabic",
            Language::Danish => "danish",
            Language::Dutch => "dutch",
            Language::English => "english",
            Language::Finnish => "finnish",
            Language::French => "french",
            Language::German => "german",
            Language::Greek => "greek",
            Language::Hungarian => "hungarian",
            Language::Italian => "italian",
            Language::Norwegian => "norwegian",
            Language::Portuguese => "portuguese",
            Language::Romanian => "romanian",
            Language::Russian => "russian",
            Language::Spanish => "spanish",
            Language::Swedish => "swedish",
            Language::Tamil => "tamil",
            Language::Turkish => "turkish",
            Language::None => "none",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Language::ALL.into_iter().find(|language| language.name() == name)
    }

    pub(crate) fn algorithm(self) -> Option<Algorithm> {
        Some(match self {
            Language::Arabic => Algorithm::Arabic,
            Language::Danish => Algorithm::Danish,
            Language::Dutch => Algorithm::Dutch,
            Language::English => Algorithm::English,
            Language::Finnish => Algorithm::Finnish,
            Language::French => Algorithm::French,
            Language::German => Algorithm::German,
            Language::Greek => Algorithm::Greek,
            Language::Hungarian => Algorithm::Hungarian,
            Language::Italian => Algorithm::Italian,
            Language::Norwegian => Algorithm::Norwegian,
            Language::Portuguese => Algorithm::Portuguese,
            Language::Romanian => Algorithm::Romanian,
            Language::Russian => Algorithm::Russian,
            Language::Spanish => Algorithm::Spanish,
            Language::Swedish => Algorithm::Swedish,
            Language::Tamil => Algorithm::Tamil,
            Language::Turkish => Algorithm::Turkish,
            Language::None => return None,
        })
    }

    /// Whether a word is too frequent to say what a text is about. Such words are skipped in queries only.
    pub fn is_stop_word(self, word: &str) -> bool {
        self.stop_words().split_whitespace().any(|stop| stop == word)
    }

    const fn stop_words(self) -> &'static str {
        match self {
            Language::English => {
                "a about above after again against all am an and any are aren't as at be because been before \
                 being below between both but by can can't cannot could couldn't did didn't do does doesn't doing \
                 don't down during each few for from further had hadn't has hasn't have haven't having he her \
                 here hers herself him himself his how i i'd i'll i'm i've if in into is isn't it it's its itself \
                 just let's me more most mustn't my myself no nor not of off on once only or other ought our ours \
                 ourselves out over own same shan't she should shouldn't so some such than that that's the their \
                 theirs them themselves then there there's these they they're this those through to too under \
                 until up very was wasn't we were weren't what what's when where which while who whom why will \
                 with won't would wouldn't you you'd you'll you're you've your yours yourself yourselves"
            }
            Language::German => {
                "aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein deine dem den \
                 der des dich die dies diese dieser dir doch dort du durch ein eine einem einen einer eines er es \
                 für hat hatte hier ich ihm ihn ihr ihre im in ist ja jede kann kein keine man mein mich mir mit \
                 nach nicht noch nun nur ob oder ohne sehr sein seine sich sie sind so über um und uns unser unter \
                 vom von vor war was weil wenn wer wie wir wird wo zu zum zur"
            }
            Language::French => {
                "à au aux avec c ce ces cet cette d dans de des du elle en est et eux il ils j je l la le les leur \
                 leurs lui m ma mais me mes moi mon n ne nos notre nous on ou où par pas pour qu que qui s sa se \
                 ses si son sont sur t ta te tes toi ton tu un une vos votre vous y"
            }
            Language::Spanish => {
                "a al algo como con cuando de del desde donde e el él ella ellas ellos en entre era es esa ese eso \
                 esta este esto está hay la las le les lo los me mi mis muy más nada ni no nos nosotros o otra otro \
                 para pero por porque que quien qué se ser si sin sobre son su sus sí también te ti tiene tu tus un \
                 una uno y ya yo"
            }
            Language::Italian => {
                "a ad agli ai al alla alle allo anche c che chi ci come con cui d da dai dal dalla de degli dei del \
                 della delle dello di dove e ed era essere gli ha hanno ho i il in io l la le lei li lo loro lui ma \
                 mi mia mio ne nei nel nella noi non o per perché più quale quando quella quello questa questo se \
                 si sono su sua sue sui sul sulla suo te ti tra tu un una uno vi voi è"
            }
            Language::Portuguese => {
                "a ao aos as até com como da das de dela dele do dos e ela elas ele eles em entre era essa esse esta \
                 este eu foi há isso isto já lhe mais mas me meu minha muito na nas nem no nos não nós o os ou para \
                 pela pelas pelo pelos por qual quando que quem se sem ser seu sua são só também te tem tu um uma \
                 você à às é"
            }
            Language::Dutch => {
                "aan al als bij dan dat de der deze die dit doch doen door dus een en er ge haar had heb hebben heeft \
                 hem het hier hij hoe hun ik in is ja je kan kon maar me meer men met mij mijn na naar niet niets nog \
                 nu of om omdat onder ons ook op over te tegen toch toen tot u uit van veel voor want waren was wat \
                 wel werd wie wij wil worden zal ze zelf zich zij zijn zo zonder zou"
            }
            Language::Swedish => {
                "all alla att av blev bli där de dem den denna deras dess det detta dig din du efter ej eller en er \
                 ett från för ha hade han hans har henne hon i icke inte jag kan man med men mig min mot mycket ni nu \
                 när och om oss på samma sig sin som så till under upp ut vad var vara vem vi vid är över"
            }
            Language::Russian => {
                "а без бы был была были было быть в вам вас во вот все всё вы где да для до его ее её если есть еще \
                 ещё же за и из или им их к как ко когда кто ли меня мне мы на не нет ни них но о об он она они от \
                 по под при с со так там то тоже ты у уже что чтобы эта эти это я"
            }
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for language in Language::ALL {
            assert_eq!(Language::from_name(language.name()), Some(language));
        }
        assert_eq!(Language::from_name("klingon"), None);
        assert_eq!(Language::default().name(), "english");
    }

    #[test]
    fn stop_words_are_whole_words() {
        assert!(Language::English.is_stop_word("the"));
        assert!(!Language::English.is_stop_word("th"));
        assert!(!Language::German.is_stop_word("the"));
    }
}
