//! `LIKE` in bounded time: each `%` backtracks to the last one and no further, so a text is scanned at most
//! once for each character of the pattern.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// `%`: any number of characters.
    Many,
    /// `_`: one character.
    One,
    This(char),
}

pub(super) fn parts(pattern: &str) -> Vec<Part> {
    let mut characters = pattern.chars();
    let mut parts = Vec::with_capacity(pattern.len());
    while let Some(character) = characters.next() {
        parts.push(match character {
            '%' => Part::Many,
            '_' => Part::One,
            '\\' => Part::This(characters.next().unwrap_or('\\')),
            other => Part::This(other),
        });
    }
    parts
}

/// Steps between two checks of the deadline.
const STEPS: u32 = 10_000;

/// `look` is called now and then, and may stop it.
pub(super) fn matches<E>(
    text: &str,
    parts: &[Part],
    look: impl Fn() -> Result<(), E>,
) -> Result<bool, E> {
    let mut steps = 0_u32;
    let mut rest = text.chars();
    let mut at = 0;
    // The last `%`, and the position in the text that it was tried from.
    let mut last: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        steps += 1;
        if steps.is_multiple_of(STEPS) {
            look()?;
        }
        match parts.get(at) {
            Some(Part::Many) => {
                last = Some((at, rest.clone()));
                at += 1;
                if at == parts.len() {
                    return Ok(true);
                }
                continue;
            }
            Some(part) => match rest.next() {
                None => return Ok(false),
                Some(found) if *part == Part::One || *part == Part::This(found) => {
                    at += 1;
                    continue;
                }
                Some(_) => {}
            },
            None if rest.as_str().is_empty() => return Ok(true),
            None => {}
        }
        // No match here: the last `%` takes one more character.
        let Some((many, from)) = &mut last else { return Ok(false) };
        if from.next().is_none() {
            return Ok(false);
        }
        at = *many + 1;
        rest = from.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_escapes_and_case() {
        let like =
            |text: &str, pattern: &str| matches(text, &parts(pattern), || Ok::<_, ()>(())).unwrap();
        for (text, pattern) in [
            ("", ""),
            ("", "%"),
            ("abc", "abc"),
            ("abc", "a%"),
            ("abc", "%c"),
            ("abc", "%b%"),
            ("abc", "___"),
            ("aXbXc", "a%b%c"),
            ("ababab", "%ab"),
            ("100%", "100\\%"),
            ("a_b", "a\\_b"),
            ("größe", "gr__e"),
            ("a\\b", "a\\\\b"),
        ] {
            assert!(like(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in [
            ("a", ""),
            ("abc", "ABC"),
            ("abc", "__"),
            ("abc", "%b"),
            ("100x", "100\\%"),
            ("axb", "a\\_b"),
            ("", "_"),
        ] {
            assert!(!like(text, pattern), "{text} {pattern}");
        }
        assert!(!like(&"a".repeat(20_000), &format!("{}b", "%a".repeat(120))));
        let stopped =
            matches(&"a".repeat(20_000), &parts(&format!("%{}b", "a".repeat(200))), || Err(()));
        assert_eq!(stopped, Err(()));
    }
}
