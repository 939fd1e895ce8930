//! Validation of paths, file names and media types. Only lower-case letters, digits and dashes of what a
//! client sends reach the storage.

use serde_json::Value;

const MAX_PARTS: usize = 10;
/// Maximum characters of a part, before and after it becomes a slug.
const LONGEST: usize = 100;
const LONGEST_EXTENSION: usize = 16;

/// The folders that a client chose for its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathParts(Vec<String>);

impl PathParts {
    /// Reserved folder names.
    pub fn of(parts: &[&str]) -> Self {
        PathParts(parts.iter().map(|part| slug(part)).filter(|part| !part.is_empty()).collect())
    }

    /// An array of strings, not empty after cleaning; forms may send it as JSON text.
    pub fn parse(value: &Value) -> Option<Self> {
        let from_text = match value {
            Value::String(text) => {
                crate::values::json::check(text.as_bytes()).ok()?;
                Some(serde_json::from_str::<Value>(text).ok()?)
            }
            _ => None,
        };
        let parts = from_text.as_ref().unwrap_or(value).as_array()?;
        if parts.len() > MAX_PARTS {
            return None;
        }
        let part = |part: &Value| {
            let text = part.as_str()?.trim();
            let slug = Some(slug(text)).filter(|slug| !slug.is_empty())?;
            (text.chars().count() <= LONGEST).then_some(slug)
        };
        parts.iter().map(part).collect::<Option<_>>().map(PathParts)
    }

    /// A path below these folders.
    pub fn join(&self, rest: &str) -> String {
        self.0.iter().map(String::as_str).chain([rest]).collect::<Vec<_>>().join("/")
    }
}

/// A slug: Latin letters and digits in lower case; everything between them becomes one dash.
fn slug(text: &str) -> String {
    let plain = deunicode::deunicode(text);
    let words = plain.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = words.collect::<Vec<_>>().join("-").to_ascii_lowercase();
    slug.truncate(LONGEST);
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

/// The stored file name: its base as a slug, its extension kept.
pub fn stored_name(file_name: &str) -> String {
    let name = file_name.rsplit(['/', '\\']).next().unwrap_or_default();
    // Longer names carry no more information and are slow to transliterate.
    let name: String = match name.char_indices().nth_back(4 * LONGEST) {
        Some((at, _)) => name[at..].to_owned(),
        None => name.to_owned(),
    };
    let (base, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let mut extension = slug(extension).replace('-', "");
    extension.truncate(LONGEST_EXTENSION);
    let base = slug(base);
    match (base.is_empty(), extension.is_empty()) {
        (true, true) => "file".to_owned(),
        // A name that begins with its only dot has no extension.
        (true, false) => extension,
        (false, true) => base,
        (false, false) => format!("{base}.{extension}"),
    }
}

/// The display name: what the client sent, without characters that are invalid in names.
pub fn shown_name(file_name: &str) -> String {
    const LONGEST_SHOWN: usize = 255;
    file_name.chars().filter(|c| !c.is_control()).take(LONGEST_SHOWN).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileType {
    Image,
    Video,
    Document,
    Other,
}

impl FileType {
    pub fn of(mime: &str) -> Self {
        const DOCUMENTS: [&str; 5] =
            ["application/pdf", "application/msword", "text/plain", "text/csv", "application/rtf"];
        const FAMILIES: [&str; 3] = [
            "application/vnd.ms-",
            "application/vnd.openxmlformats-officedocument.",
            "application/vnd.oasis.opendocument.",
        ];
        let mime = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if mime.starts_with("image/") {
            FileType::Image
        } else if mime.starts_with("video/") {
            FileType::Video
        } else if DOCUMENTS.contains(&mime.as_str())
            || FAMILIES.iter().any(|family| mime.starts_with(family))
        {
            FileType::Document
        } else {
            FileType::Other
        }
    }
}

/// Media types that a browser may show inline: formats that cannot carry a script. Everything else is
/// downloaded.
pub fn is_inline(mime: &str) -> bool {
    const INLINE: &[&str] = &[
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
        "image/avif",
        "image/bmp",
        "image/tiff",
        "video/mp4",
        "video/webm",
        "video/ogg",
        "video/quicktime",
        "audio/mpeg",
        "audio/mp4",
        "audio/aac",
        "audio/ogg",
        "audio/wav",
        "audio/webm",
        "audio/flac",
        "application/pdf",
    ];
    INLINE.contains(&mime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn joined(value: Value) -> Option<String> {
        PathParts::parse(&value).map(|parts| parts.join("x"))
    }

    #[test]
    fn parts_become_slugs() {
        for (parts, path) in [
            (json!(["documents", "user-123"]), "documents/user-123/x"),
            (json!([" Größe ", "Отчёт", "北京"]), "grosse/otchiot/bei-jing/x"),
            (json!(["a/../../b", "%2e%2e"]), "a-b/2e-2e/x"),
            (json!([]), "x"),
            (json!("[\"a\"]"), "a/x"),
        ] {
            assert_eq!(joined(parts.clone()).as_deref(), Some(path), "{parts}");
        }
    }

    #[test]
    fn what_leaves_no_slug_is_refused() {
        let many = json!(vec!["a"; 11]);
        let long = json!(["a".repeat(101)]);
        for wrong in [
            json!(null),
            json!("a"),
            json!("[\"\\u0000\"]"),
            json!({ "a": 1 }),
            json!([1]),
            json!([".."]),
            json!(["", "a"]),
            json!([" "]),
            json!(["\u{0}"]),
            many,
            long,
        ] {
            assert_eq!(joined(wrong.clone()), None, "{wrong}");
        }
        assert!(joined(json!(["a".repeat(100)])).is_some());
        assert!(joined(json!(["中".repeat(100)])).unwrap().len() <= 102);
    }

    #[test]
    fn names_keep_their_extension_and_nothing_else() {
        for (name, stored) in [
            ("Report 2026.PDF", "report-2026.pdf"),
            ("../../x.png", "x.png"),
            ("C:\\dir\\a.tar.gz", "a-tar.gz"),
            ("CON", "con"),
            (".htaccess", "htaccess"),
            ("", "file"),
            ("...", "file"),
            ("a\r\nb\u{202e}gnp.exe", "a-bgnp.exe"),
            ("x.", "x"),
            ("страница.txt", "stranitsa.txt"),
        ] {
            assert_eq!(stored_name(name), stored, "{name}");
        }
        assert!(stored_name(&format!("{}.png", "a".repeat(10_000))).len() <= 104);
        assert!(stored_name(&format!("a.{}", "b".repeat(10_000))).len() <= 120);
    }

    #[test]
    fn types_follow_the_media_type() {
        for (mime, kind) in [
            ("image/svg+xml", FileType::Image),
            ("VIDEO/mp4", FileType::Video),
            ("application/vnd.ms-excel", FileType::Document),
            ("text/plain; charset=utf-8", FileType::Document),
            ("text/html", FileType::Other),
            ("audio/mpeg", FileType::Other),
        ] {
            assert_eq!(FileType::of(mime), kind, "{mime}");
        }
        for mime in ["text/html", "image/svg+xml", "IMAGE/PNG", "image/png; x=1", "image/svg"] {
            assert!(!is_inline(mime), "{mime}");
        }
    }
}
