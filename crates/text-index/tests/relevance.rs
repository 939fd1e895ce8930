//! A small collection with judgements: ranking must stay as good as it is, and one slip in each longer word of a
//! query must cost little. The index here is in memory and as simple as can be.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, HashMap};

use text_index::postings::{Posting, encode};
use text_index::{
    Analyzer, Bm25, Document, Filter, Language, Scores, Statistics, query_words, spelling,
};

/// Title and text of each document.
const DOCUMENTS: [(&str, &str); 30] = [
    (
        "Growing tomatoes on a balcony",
        "Tomatoes want sun, deep pots and water every morning. Feed them once the first fruits show.",
    ),
    (
        "When to plant out seedlings",
        "Wait until the nights stay above ten degrees. Harden seedlings off for a week before planting.",
    ),
    (
        "Blight on tomato leaves",
        "Brown spots that spread in wet weather are blight. Remove the leaves and keep the plants dry.",
    ),
    (
        "Compost for beginners",
        "Mix kitchen scraps with dry leaves. Turn the heap every month and keep it damp, not wet.",
    ),
    (
        "Pruning apple trees in winter",
        "Cut out crossing branches while the tree sleeps. Never take more than a quarter of the wood.",
    ),
    (
        "Which soil for blueberries",
        "Blueberries need sour soil. Mix peat-free compost with pine needles and water with rain.",
    ),
    (
        "Slugs ate my lettuce",
        "Copper tape, beer traps or a night walk with a torch: what works best against slugs?",
    ),
    (
        "Watering while on holiday",
        "A drip line with a timer keeps pots alive for two weeks. Test it before you leave.",
    ),
    (
        "Sourdough starter smells of acetone",
        "A hungry starter smells sharp. Feed it twice a day with equal parts of flour and water.",
    ),
    (
        "Baking bread without a mixer",
        "Fold the dough every half hour instead of kneading. The gluten develops while it rests.",
    ),
    (
        "Pizza dough at home",
        "Strong flour, a slow rise in the fridge and the hottest oven you have make a crisp pizza.",
    ),
    (
        "How to sharpen kitchen knives",
        "A whetstone with two grits is enough. Keep the angle and finish on leather.",
    ),
    (
        "Seasoning a cast iron pan",
        "Rub the pan with thin oil and bake it for an hour. Repeat until the surface is black.",
    ),
    (
        "Vegetarian chilli recipe",
        "Beans, smoked paprika and dark chocolate give depth. Simmer the chilli for an hour.",
    ),
    (
        "Keeping herbs fresh",
        "Stand basil in a glass of water, wrap parsley in damp cloth, and freeze chives.",
    ),
    (
        "Bicycle chain keeps slipping",
        "A worn chain slips under load. Measure it with a gauge and replace the cassette with it.",
    ),
    (
        "Choosing a touring bicycle",
        "Steel frames, wide tyres and low gears carry luggage comfortably over long distances.",
    ),
    (
        "Repairing a punctured tube",
        "Find the hole under water, roughen the rubber, glue, wait, and press the patch on.",
    ),
    (
        "Commuting in the rain",
        "Mudguards, a waterproof bag and lights that run off the hub make wet commutes bearable.",
    ),
    (
        "Brake pads for mountain bikes",
        "Sintered pads last longer in mud; organic pads bite sooner and are quiet.",
    ),
    (
        "Learning the guitar as an adult",
        "Ten minutes every day beat two hours on Sunday. Start with three chords and songs you like.",
    ),
    (
        "Tuning a piano yourself",
        "Temper the middle octave first. Expect to need a lever, mutes and a lot of patience.",
    ),
    (
        "Microphones for home recording",
        "A dynamic microphone forgives a noisy room; a condenser hears the neighbours.",
    ),
    (
        "Reading sheet music faster",
        "Read intervals instead of single notes, and keep your eyes one bar ahead of your hands.",
    ),
    (
        "Recording vocals in a closet",
        "Clothes absorb reflections. Sing close to the microphone and record at a moderate level.",
    ),
    (
        "Telescope for a first look at planets",
        "Aperture matters more than magnification. A small Dobsonian shows the rings of Saturn.",
    ),
    (
        "Photographing the milky way",
        "A tripod, a wide lens and twenty seconds of exposure under a dark sky are enough.",
    ),
    (
        "Meteor shower in August",
        "The Perseids peak before dawn. Lie down, look up and give your eyes half an hour.",
    ),
    (
        "Binoculars or telescope?",
        "Binoculars show star clusters and the moons of Jupiter, and they fit into a bag.",
    ),
    (
        "Light pollution maps",
        "A map of sky brightness helps to find dark places for astronomy near a city.",
    ),
];

/// A query, the documents that reply to it well, and those that touch it.
const QUERIES: [(&str, &[usize], &[usize]); 14] = [
    ("growing tomatoes in pots", &[0], &[2, 7]),
    ("tomato blight spots on leaves", &[2], &[0, 3]),
    ("how to make compost from kitchen scraps", &[3], &[5, 11]),
    ("watering plants during a holiday", &[7], &[0, 2]),
    ("prune apple trees", &[4], &[]),
    ("feeding a sourdough starter with flour", &[8], &[9, 10]),
    ("baking bread dough", &[9], &[10, 12]),
    ("sharpening knives with a whetstone", &[11], &[]),
    ("bicycle chain slips", &[15], &[16]),
    ("repair a punctured bicycle tube", &[17], &[15, 16]),
    ("microphone for recording vocals", &[24], &[22]),
    ("practise guitar chords every day", &[20], &[8]),
    ("first telescope for planets", &[25], &[28]),
    ("dark places for photographing stars", &[26, 29], &[28]),
];

struct Index {
    analyzer: Analyzer,
    blocks: HashMap<String, (i64, Vec<u8>)>,
    words: BTreeMap<String, i64>,
    bm25: Bm25,
}

impl Index {
    fn new() -> Self {
        let analyzer = Analyzer::new(Language::English);
        let mut postings: HashMap<String, Vec<Posting>> = HashMap::new();
        let (mut words, mut statistics) = (BTreeMap::new(), Statistics::default());
        for (number, (title, text)) in DOCUMENTS.iter().enumerate() {
            let document = Document::new(&analyzer, &[(title, 2), (text, 1)]);
            statistics.documents += 1;
            statistics.length += i64::from(document.length);
            for (term, count) in &document.terms(&analyzer) {
                let posting = Posting::new(i64::try_from(number).unwrap(), *count, document.length);
                postings.entry(term.clone()).or_default().push(posting);
            }
            for (word, _) in document.words() {
                *words.entry(word.to_owned()).or_default() += 1;
            }
        }
        let block = |(term, postings): (String, Vec<Posting>)| {
            (term, (i64::try_from(postings.len()).unwrap(), encode(&postings)))
        };
        let blocks = postings.into_iter().map(block).collect();
        Index { analyzer, blocks, words, bm25: Bm25::new(statistics) }
    }

    fn search(&self, query: &str) -> Vec<usize> {
        let mut scores = Scores::default();
        for word in query_words(&self.analyzer, query) {
            let mut terms = vec![word.term.clone()];
            if !self.blocks.contains_key(&word.term) {
                let known = self.words.iter().map(|(word, count)| (word.clone(), *count));
                let corrected =
                    spelling::nearest(&word.word, spelling::max_distance(&word.word), known);
                terms = corrected.iter().map(|word| self.analyzer.term(word)).collect();
            }
            for (count, block) in terms.iter().filter_map(|term| self.blocks.get(term)) {
                scores.add_alternative(&self.bm25, block, self.bm25.idf(*count), &Filter::All);
            }
            scores.finish_word();
        }
        let mut ranking = scores.ranking();
        ranking.next(10, 0).iter().map(|(_, n)| usize::try_from(*n).unwrap()).collect()
    }

    /// nDCG@10 over all queries: documents that reply well count 2, those that touch it 1.
    fn quality(&self, change: impl Fn(&str) -> String) -> f64 {
        let discount = |place: usize| 1.0 / f64::from(u32::try_from(place).unwrap() + 2).log2();
        let each = QUERIES.iter().map(|(query, good, near)| {
            let gain = |document: &usize| match document {
                document if good.contains(document) => 2.0,
                document if near.contains(document) => 1.0,
                _ => 0.0,
            };
            let found = self.search(&change(query));
            let found: f64 =
                found.iter().take(10).enumerate().map(|(at, n)| gain(n) * discount(at)).sum();
            let ideal = good.iter().chain(*near).enumerate();
            let ideal: f64 = ideal.map(|(at, n)| gain(n) * discount(at)).sum();
            found / ideal
        });
        each.sum::<f64>() / f64::from(u32::try_from(QUERIES.len()).unwrap())
    }
}

/// One slip in each word of five letters or more: in turn a letter swapped, missing, doubled or wrong.
fn with_slips(query: &str) -> String {
    let slip = |(index, word): (usize, &str)| {
        let mut letters: Vec<char> = word.chars().collect();
        if letters.len() < 5 {
            return word.to_owned();
        }
        let at = 1 + (index + letters.len()) % (letters.len() - 2);
        match index % 4 {
            0 => letters.swap(at, at + 1),
            1 => drop(letters.remove(at)),
            2 => letters.insert(at, letters[at]),
            _ => letters[at] = 'x',
        }
        String::from_iter(letters)
    };
    query.split(' ').enumerate().map(slip).collect::<Vec<_>>().join(" ")
}

#[test]
fn ranking_is_as_good_as_it_was_and_slips_cost_little() {
    let index = Index::new();
    let clean = index.quality(str::to_owned);
    let slips = index.quality(with_slips);
    println!("nDCG@10: {clean:.4} clean, {slips:.4} with slips");
    assert!(clean >= 0.93, "{clean}");
    assert!(slips >= 0.9 * clean, "{slips} of {clean}");
}
