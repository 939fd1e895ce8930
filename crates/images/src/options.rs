//! Image options: which variants, how they fit, and the output format. Parsed options are valid except for
//! what depends on the image itself.

use serde_json::{Map, Value};

use super::fields::{Ratio, edge, given, must_be_one_of, one_of, ratio, ratios, whole};

/// Maximum variants of one image.
const MAX_VARIANTS: usize = 20;

/// What a mode means without the key that names its variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingKey {
    /// Only the original is wanted.
    NoVariants,
    Refused,
}

/// The requested format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Webp,
    Jpeg,
    Png,
    /// That of the source, if it can be written.
    Original,
}

impl Format {
    const ALL: [Format; 4] = [Format::Webp, Format::Jpeg, Format::Png, Format::Original];

    pub fn name(self) -> &'static str {
        match self {
            Format::Webp => "webp",
            Format::Jpeg => "jpeg",
            Format::Png => "png",
            Format::Original => "original",
        }
    }
}

/// How the image fits into the box of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// Fills the box; the excess is cropped evenly on both sides.
    Cover,
    /// The whole image, on a canvas as large as the box.
    Contain,
    /// The largest that fits into the box.
    Inside,
    /// The smallest that covers the box, uncut.
    Outside,
}

impl Fit {
    const ALL: [Fit; 4] = [Fit::Cover, Fit::Contain, Fit::Inside, Fit::Outside];

    fn name(self) -> &'static str {
        match self {
            Fit::Cover => "cover",
            Fit::Contain => "contain",
            Fit::Inside => "inside",
            Fit::Outside => "outside",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    ExactDimensions,
    WidthBased,
    HeightBased,
    OriginalAspect,
    MultiAspect,
}

impl Mode {
    const ALL: [Mode; 5] = [
        Mode::ExactDimensions,
        Mode::WidthBased,
        Mode::HeightBased,
        Mode::OriginalAspect,
        Mode::MultiAspect,
    ];

    fn name(self) -> &'static str {
        match self {
            Mode::ExactDimensions => "exact-dimensions",
            Mode::WidthBased => "aspect-ratio-width-based",
            Mode::HeightBased => "aspect-ratio-height-based",
            Mode::OriginalAspect => "original-aspect",
            Mode::MultiAspect => "multi-aspect-ratio",
        }
    }

    /// Where the variants are named. `sizes` is understood in every mode.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Mode::ExactDimensions => &["dimensions", "sizes"],
            Mode::WidthBased => &["widths", "sizes"],
            Mode::HeightBased => &["heights", "sizes"],
            Mode::OriginalAspect | Mode::MultiAspect => &["sizes"],
        }
    }
}

/// The box of a variant. Without a ratio it has that of the source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Size {
    Exact { width: u32, height: u32 },
    Width(u32, Option<Ratio>),
    Height(u32, Option<Ratio>),
    LongestEdge(u32, Option<Ratio>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Variant {
    pub name: String,
    pub size: Size,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub(super) variants: Vec<Variant>,
    pub(super) fit: Fit,
    /// Whether a variant may be larger than its source.
    pub(super) enlarges: bool,
    quality: u8,
    format: Format,
    strip_exif: bool,
}

impl Options {
    /// Parses options from the members of a JSON object; other members are ignored. Texts of a form must have
    /// been parsed as JSON before. The error is a text for the caller.
    pub fn parse(fields: &Map<String, Value>, missing: MissingKey) -> Result<Options, String> {
        let mode = one_of(fields, "mode", &Mode::ALL, Mode::name)?
            .ok_or_else(|| must_be_one_of("mode", &Mode::ALL, Mode::name))?;
        let quality = match given(fields, "quality") {
            None => 85,
            Some(value) => whole(value)
                .and_then(|n| u8::try_from(n).ok())
                .filter(|n| (1..=100).contains(n))
                .ok_or("quality must be a whole number from 1 to 100")?,
        };
        let strip_exif = match given(fields, "stripExif") {
            None => true,
            Some(value) => value.as_bool().ok_or("stripExif must be true or false")?,
        };
        let format = one_of(fields, "format", &Format::ALL, Format::name)?;
        Ok(Options {
            fit: fit(fields, mode)?,
            variants: variants(fields, mode, missing)?,
            enlarges: mode != Mode::OriginalAspect,
            quality,
            format: format.unwrap_or(Format::Webp),
            strip_exif,
        })
    }

    pub fn quality(&self) -> u8 {
        self.quality
    }

    pub fn format(&self) -> Format {
        self.format
    }

    pub fn strips_exif(&self) -> bool {
        self.strip_exif
    }
}

fn fit(fields: &Map<String, Value>, mode: Mode) -> Result<Fit, String> {
    let (choices, usual): (&[Fit], Fit) = match mode {
        Mode::OriginalAspect => (&[Fit::Inside, Fit::Outside], Fit::Inside),
        _ => (&Fit::ALL, Fit::Cover),
    };
    Ok(one_of(fields, "fit", choices, Fit::name)?.unwrap_or(usual))
}

fn variants(
    fields: &Map<String, Value>,
    mode: Mode,
    missing: MissingKey,
) -> Result<Vec<Variant>, String> {
    let ratio = match mode {
        Mode::WidthBased | Mode::HeightBased => {
            given(fields, "aspectRatio").map(|value| ratio("aspectRatio", value)).transpose()?
        }
        _ => None,
    };
    let ratios = match mode {
        Mode::MultiAspect => given(fields, "aspectRatios").map(ratios).transpose()?,
        _ => None,
    };
    let key = mode.keys().iter().find_map(|key| Some((*key, given(fields, key)?)));
    let absent = match (mode, &ratios, key) {
        (Mode::MultiAspect, None, _) => Some("aspectRatios"),
        (_, _, None) => mode.keys().first().copied(),
        _ => None,
    };
    if let Some(absent) = absent.filter(|_| missing == MissingKey::Refused) {
        return Err(format!("{absent} is required with mode {}", mode.name()));
    }
    let Some((key, value)) = key else {
        return Ok(Vec::new());
    };
    let mut variants = Vec::new();
    for (name, value) in named(key, value)? {
        let of = || format!("{key}.{name}");
        let mut add = |name: &str, size| variants.push(Variant { name: name.to_owned(), size });
        match mode {
            Mode::ExactDimensions => {
                let side = |side| edge(&format!("{key}.{name}.{side}"), &value[side]);
                add(name, Size::Exact { width: side("width")?, height: side("height")? });
            }
            Mode::WidthBased => add(name, Size::Width(edge(&of(), value)?, ratio)),
            Mode::HeightBased => add(name, Size::Height(edge(&of(), value)?, ratio)),
            Mode::OriginalAspect => add(name, Size::LongestEdge(edge(&of(), value)?, None)),
            Mode::MultiAspect => {
                let edge = edge(&of(), value)?;
                for ratio in ratios.iter().flatten() {
                    let name = format!("{name}_{}x{}", ratio.width, ratio.height);
                    add(&name, Size::LongestEdge(edge, Some(*ratio)));
                }
            }
        }
    }
    if variants.len() > MAX_VARIANTS {
        return Err(format!("an image can have at most {MAX_VARIANTS} variants"));
    }
    Ok(variants)
}

/// The members of an object whose keys become the names of variants.
fn named<'a>(
    key: &str,
    value: &'a Value,
) -> Result<impl Iterator<Item = (&'a String, &'a Value)>, String> {
    let members = value.as_object().ok_or_else(|| format!("{key} must be an object"))?;
    if members.len() > MAX_VARIANTS {
        return Err(format!("an image can have at most {MAX_VARIANTS} variants"));
    }
    let sound = |name: &String| {
        (1..=50).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    if !members.keys().all(sound) {
        return Err(format!(
            "the names in {key} must have 1 to 50 letters, digits, underscores or hyphens"
        ));
    }
    if members.contains_key("original") {
        return Err(format!("the name original in {key} is reserved"));
    }
    Ok(members.iter())
}
