//! Vectors of meaning, as a model outside makes them from texts. One bit for each dimension is enough to find what is
//! near (a scan of blocks of such bits), one byte for each to put it into the right order.

/// Documents whose bits share a block: those with numbers `n * BLOCK` up to the next multiple.
pub const BLOCK: i64 = 256;
/// Characters of one chunk of a text, and chunks of a text; what is beyond is found by its words alone.
const CHUNK: usize = 1_500;
const MAX_CHUNKS: usize = 8;
/// Two bytes for the number of dimensions.
const HEADER: usize = 2;

/// The chunks of a text, cut between words.
pub fn chunks(text: &str) -> Vec<&str> {
    let mut rest = text.trim();
    let mut found = Vec::new();
    while !rest.is_empty() && found.len() < MAX_CHUNKS {
        let end = rest.char_indices().nth(CHUNK).map_or(rest.len(), |(end, _)| end);
        let cut = match rest[..end].rfind(char::is_whitespace) {
            Some(space) if end < rest.len() && space > 0 => space,
            _ => end,
        };
        found.push(rest[..cut].trim_end());
        rest = rest[cut..].trim_start();
    }
    found
}

/// The signs of a vector, eight to a byte.
pub fn signs(vector: &[f32]) -> Vec<u8> {
    let byte = |some: &[f32]| {
        some.iter().enumerate().fold(0, |byte, (bit, value)| byte | u8::from(*value > 0.0) << bit)
    };
    vector.chunks(8).map(byte).collect()
}

/// Each dimension as a signed byte, the largest of them as 127: the direction is all that counts.
pub fn quantise(vector: &[f32]) -> Vec<u8> {
    let largest = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    let scale = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, reason = "from -127 to 127")]
    let byte = |value: &f32| ((value * scale).round() as i8).cast_unsigned();
    vector.iter().map(byte).collect()
}

/// A vector that is searched for.
#[derive(Debug, Clone)]
pub struct QueryVector {
    values: Vec<f32>,
    length: f32,
    signs: Vec<u8>,
}

impl QueryVector {
    pub fn new(values: Vec<f32>) -> Self {
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        let signs = signs(&values);
        QueryVector { values, length, signs }
    }

    /// The cosine of the angle to a vector that was quantised; none if it has other dimensions.
    pub fn cosine(&self, quantised: &[u8]) -> Option<f32> {
        if quantised.len() != self.values.len() {
            return None;
        }
        let (mut product, mut squares) = (0.0, 0.0);
        for (value, byte) in self.values.iter().zip(quantised) {
            let other = f32::from(byte.cast_signed());
            product += value * other;
            squares += other * other;
        }
        let lengths = self.length * squares.sqrt();
        (lengths > 0.0).then(|| (product / lengths).clamp(-1.0, 1.0))
    }

    /// Calls back with the number of each document of a block, and how near it seems by its signs: an estimate of the
    /// cosine.
    pub fn scan(&self, block: i64, bytes: &[u8], mut found: impl FnMut(i64, f32)) {
        let Some(signs) = Signs::read(bytes) else { return };
        if signs.dimensions != self.values.len() {
            return;
        }
        for (offset, of) in signs.entries() {
            let pairs = of.iter().zip(&self.signs);
            let differing: u32 = pairs.map(|(a, b)| (a ^ b).count_ones()).sum();
            found(block * BLOCK + i64::from(offset), estimate(differing, signs.dimensions));
        }
    }
}

/// Two vectors at an angle differ in as large a share of their signs as the angle is of a half turn.
#[expect(clippy::cast_precision_loss, reason = "some thousands")]
fn estimate(differing: u32, dimensions: usize) -> f32 {
    (std::f32::consts::PI * differing as f32 / dimensions as f32).cos()
}

/// A block as it is stored.
struct Signs<'a> {
    dimensions: usize,
    rest: &'a [u8],
}

impl<'a> Signs<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (header, rest) = bytes.split_first_chunk::<HEADER>()?;
        let dimensions = usize::from(u16::from_le_bytes(*header));
        (dimensions > 0).then_some(Signs { dimensions, rest })
    }

    fn entries(&self) -> impl Iterator<Item = (u8, &'a [u8])> {
        let entries = self.rest.chunks_exact(1 + self.dimensions.div_ceil(8));
        entries.filter_map(|entry| entry.split_first().map(|(offset, signs)| (*offset, signs)))
    }
}

/// A block with the signs of a vector more; one of other dimensions is begun anew.
pub fn add(bytes: &mut Vec<u8>, number: i64, vector: &[f32]) {
    let dimensions = u16::try_from(vector.len()).unwrap_or_default();
    if Signs::read(bytes).is_none_or(|signs| signs.dimensions != usize::from(dimensions)) {
        *bytes = dimensions.to_le_bytes().to_vec();
    }
    bytes.push(offset(number));
    bytes.extend(signs(vector));
}

/// A block without a document; empty if nothing else is in it.
pub fn remove(bytes: &[u8], number: i64) -> Vec<u8> {
    let Some(signs) = Signs::read(bytes) else { return Vec::new() };
    let mut kept = bytes[..HEADER].to_vec();
    for (other, of) in signs.entries().filter(|(other, _)| *other != offset(number)) {
        kept.push(other);
        kept.extend(of);
    }
    if kept.len() == HEADER { Vec::new() } else { kept }
}

fn offset(number: i64) -> u8 {
    u8::try_from(number.rem_euclid(BLOCK)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Directions in 256 dimensions, spread by a simple generator.
    fn vector(seed: u32) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            f32::from(u16::try_from(state >> 16).unwrap()) / 32_768.0 - 1.0
        };
        (0..256).map(|_| next()).collect()
    }

    fn between(a: &[f32], b: &[f32], share: f32) -> Vec<f32> {
        a.iter().zip(b).map(|(a, b)| a * share + b * (1.0 - share)).collect()
    }

    #[test]
    fn a_text_is_cut_between_words() {
        assert_eq!(chunks("  one two  "), ["one two"]);
        assert!(chunks(" \n ").is_empty());
        let long = "word ".repeat(1_000);
        let cut = chunks(&long);
        assert_eq!(cut.len(), 4);
        assert!(cut.iter().all(|chunk| chunk.starts_with("word") && chunk.ends_with("word")));
        assert_eq!(chunks(&"é".repeat(CHUNK * 20)).len(), MAX_CHUNKS);
    }

    #[test]
    fn bytes_tell_the_cosine() {
        let (a, b) = (vector(1), vector(2));
        let query = QueryVector::new(a.clone());
        assert!(query.cosine(&quantise(&a)).unwrap() > 0.999);
        let opposite: Vec<f32> = a.iter().map(|value| -value).collect();
        assert!(query.cosine(&quantise(&opposite)).unwrap() < -0.999);
        let near = query.cosine(&quantise(&between(&a, &b, 0.7))).unwrap();
        let far = query.cosine(&quantise(&between(&a, &b, 0.3))).unwrap();
        assert!(near > 0.8 && far < 0.6 && far > 0.1, "{near} {far}");
        assert_eq!(query.cosine(&quantise(&a[..8])), None);
        assert_eq!(query.cosine(&quantise(&[0.0; 256])), None);
    }

    #[test]
    fn signs_estimate_the_cosine() {
        let (a, b) = (vector(3), vector(4));
        let mut block = Vec::new();
        for (number, share) in [(256, 1.0), (257, 0.7), (258, 0.0)] {
            add(&mut block, number, &between(&a, &b, share));
        }
        add(&mut block, 257, &b);
        let query = QueryVector::new(a.clone());
        let mut found = Vec::new();
        query.scan(1, &block, |number, near| found.push((number, near)));
        assert_eq!(
            found.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
            [256, 257, 258, 257]
        );
        assert!(found[0].1 > 0.999 && found[1].1 > 0.6 && found[2].1 < 0.3, "{found:?}");
        let block = remove(&block, 257);
        let mut found = Vec::new();
        query.scan(1, &block, |number, _| found.push(number));
        assert_eq!(found, [256, 258]);
        assert!(remove(&remove(&block, 256), 258).is_empty());
    }

    #[test]
    fn a_damaged_or_other_block_finds_nothing() {
        let query = QueryVector::new(vector(5));
        let mut other = Vec::new();
        add(&mut other, 1, &[1.0; 8]);
        for block in [Vec::new(), vec![0], vec![0, 0, 1], other] {
            query.scan(0, &block, |_, _| panic!("{block:?}"));
        }
    }
}
