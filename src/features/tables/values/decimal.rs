//! Exact decimal numbers: accepts any spelling of a number, writes plain notation, keeps the scale.

/// Maximum digits of a number.
const MAX_DIGITS: usize = 1000;

/// The number in plain notation: `1.50` stays, `+042` is `42`, `1.5e3` is `1500`. None if it is no
/// number of the form `[+-]digits[.digits][e[+-]digits]`, or has too many digits.
pub fn plain(text: &str) -> Option<String> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !fraction.is_none_or(all_digits) {
        return None;
    }
    let fraction = fraction.unwrap_or_default();
    let whole = whole.trim_start_matches('0');
    // Leading zeros do not count, all other digits do.
    if whole.len() + fraction.len() > MAX_DIGITS {
        return None;
    }
    let shift = match exponent {
        Some(text) => shift(text)?,
        None => 0,
    };
    let digits = format!("{whole}{fraction}");
    let scale = i64::try_from(fraction.len()).ok()? - shift;
    let number = if scale <= 0 { grown(&digits, -scale)? } else { pointed(&digits, scale)? };
    let is_zero = number.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    Some(if negative && !is_zero { format!("-{number}") } else { number })
}

/// The number of an exponent; none if it is far too large.
fn shift(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse::<i64>().ok().filter(|shift| shift.abs() <= 100_000)
}

/// The digits followed by this many zeros.
fn grown(digits: &str, zeros: i64) -> Option<String> {
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    let zeros = usize::try_from(zeros).ok()?;
    (digits.len() + zeros <= MAX_DIGITS).then(|| format!("{digits}{}", "0".repeat(zeros)))
}

/// The digits with a point before the last ones.
fn pointed(digits: &str, scale: i64) -> Option<String> {
    let scale = usize::try_from(scale).ok().filter(|scale| *scale <= MAX_DIGITS)?;
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    (whole.len() + fraction.len() <= MAX_DIGITS).then(|| format!("{whole}.{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_is_kept_and_spelling_is_not() {
        for (text, expected) in [
            ("42", "42"),
            ("1.50", "1.50"),
            ("+042", "42"),
            ("-0", "0"),
            ("-0.00", "0.00"),
            ("000.5", "0.5"),
            ("1.5e3", "1500"),
            ("1.50E1", "15.0"),
            ("12e-3", "0.012"),
            ("1.0e-2", "0.010"),
            ("0e1000", "0"),
            ("-1e2", "-100"),
            ("12345678901234567890.123456789", "12345678901234567890.123456789"),
        ] {
            assert_eq!(plain(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_or_too_long_is_refused() {
        let long = ["9".repeat(1001), format!("0.{}", "1".repeat(1000)), "1e1000".to_owned()];
        for text in long.iter().map(String::as_str).chain([
            "",
            "-",
            ".5",
            "5.",
            "1e",
            "1e+",
            "NaN",
            "Infinity",
            "1 ",
            "0x1",
            "1_000",
            "1e99999999999",
            "1e-1001",
            "--1",
        ]) {
            assert_eq!(plain(text), None, "{text}");
        }
        assert!(plain(&"9".repeat(1000)).is_some());
        assert!(plain("1e999").is_some());
    }
}
