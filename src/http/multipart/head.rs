//! The headers of one part of a form: its field name, and for a file its file name and media type.

const MAX_NAME: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartHead {
    pub name: String,
    pub file_name: Option<String>,
    pub content_type: Option<String>,
}

impl PartHead {
    /// Lines as sent, without the empty one at the end.
    pub(super) fn parse(lines: &[u8]) -> Result<Self, &'static str> {
        // Names that are not UTF-8 are decoded lossily.
        let lines = String::from_utf8_lossy(lines);
        let (mut disposition, mut content_type) = (None, None);
        for line in lines.split("\r\n") {
            let (name, value) = line.split_once(':').ok_or("a part has a malformed header")?;
            match name.trim().to_ascii_lowercase().as_str() {
                "content-disposition" => disposition = Some(value.trim().to_owned()),
                "content-type" => content_type = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        let disposition = disposition.ok_or("a part does not say what it is")?;
        let name = parameter(&disposition, "name").ok_or("a part has no name")?;
        if name.len() > MAX_NAME {
            return Err("the name of a part is too long");
        }
        let file_name =
            parameter(&disposition, "filename*").as_deref().and_then(extended).or_else(|| {
                // How browsers escape characters that would end the value.
                let plain = parameter(&disposition, "filename")?;
                Some(plain.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n"))
            });
        Ok(PartHead { name, file_name, content_type })
    }
}

/// One parameter of a header such as `form-data; name="x"`.
pub(super) fn parameter(header: &str, wanted: &str) -> Option<String> {
    let mut rest = header.split_once(';')?.1;
    loop {
        let (name, after) = rest.split_once('=')?;
        let (value, after) = value(after.trim_start())?;
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = after.split_once(';')?.1;
    }
}

/// A quoted or plain value, and what follows it.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(';').unwrap_or(text.len());
        return Some((text[..end].trim().to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &quoted[at + 1..])),
            // Other backslashes belong to a path that an old browser sent.
            '\\' => match chars.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                Some((_, escaped)) => value.push(escaped),
                None => value.push(c),
            },
            _ => value.push(c),
        }
    }
    None
}

/// `UTF-8''na%C3%AFve.txt`.
fn extended(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let text = rest.split_once('\'')?.1;
    let decoded = crate::http::query::percent_decode(text, false)?;
    charset.eq_ignore_ascii_case("utf-8").then(|| decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(disposition: &str) -> Option<(String, Option<String>)> {
        let head = PartHead::parse(format!("Content-Disposition: {disposition}").as_bytes());
        head.ok().map(|head| (head.name, head.file_name))
    }

    #[test]
    fn names_are_read_as_clients_write_them() {
        for (disposition, name, file) in [
            (r#"form-data; name="file""#, "file", None),
            (r#"form-data; name=file; filename=a.txt"#, "file", Some("a.txt")),
            (r#"form-data; filename="a;b=c.txt"; name="f""#, "f", Some("a;b=c.txt")),
            (r#"form-data; name="f"; filename="a \"b\".txt""#, "f", Some("a \"b\".txt")),
            (
                r#"form-data; name="f"; filename="a %22b%22%0D%0A.txt""#,
                "f",
                Some("a \"b\"\r\n.txt"),
            ),
            (r#"form-data; name="f"; filename="C:\dir\a.txt""#, "f", Some(r"C:\dir\a.txt")),
            (r#"form-data; name="f"; filename="ä.txt""#, "f", Some("ä.txt")),
            (
                r#"form-data; name="f"; filename="x"; filename*=UTF-8''%c3%a4.txt"#,
                "f",
                Some("ä.txt"),
            ),
            (r#"form-data; name="f"; filename="""#, "f", Some("")),
        ] {
            let expected = Some((name.to_owned(), file.map(ToOwned::to_owned)));
            assert_eq!(name_of(disposition), expected, "{disposition}");
        }
    }

    #[test]
    fn a_part_without_a_name_is_none() {
        let long = format!("form-data; name=\"{}\"", "x".repeat(201));
        for wrong in ["form-data", "form-data; filename=\"a\"", "form-data; name=\"open", &long] {
            assert_eq!(name_of(wrong), None, "{wrong}");
        }
        assert!(PartHead::parse(b"Content-Type: text/plain").is_err());
        assert!(PartHead::parse(b"no colon").is_err());
    }
}
