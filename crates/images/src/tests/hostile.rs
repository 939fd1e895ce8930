//! Files that were made to do harm: they are refused, or read for what they are, at little cost.

use super::*;

/// Generous, because test machines are busy; what is feared here takes minutes.
const SECONDS: u64 = 60;

/// As `process`, but with an end: a file that keeps a decoder busy for long fails the test.
async fn quickly(file: &[u8]) -> Result<Made, Failure> {
    let limit = std::time::Duration::from_secs(SECONDS);
    let work = process(file, json!({"mode": "original-aspect"}));
    tokio::time::timeout(limit, work).await.expect("it took too long")
}

async fn refused_quickly(file: &[u8]) -> String {
    match quickly(file).await {
        Err(Failure::Invalid(why)) => why,
        Err(other) => panic!("{other:?}"),
        Ok(made) => panic!("accepted: {:?}", made.processed),
    }
}

/// A chunk of a PNG, with the checksum it needs to be looked at.
pub(super) fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    };
    let named = [&name[..], content].concat();
    let crc = !named.iter().fold(u32::MAX, step);
    [&(content.len() as u32).to_be_bytes()[..], &named, &crc.to_be_bytes()].concat()
}

pub(super) fn png_claiming(width: u32, height: u32, rest: &[u8]) -> Vec<u8> {
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    let header = chunk(b"IHDR", &[&size[..], &[8, 0, 0, 0, 0]].concat());
    [b"\x89PNG\r\n\x1a\n", &header[..], rest].concat()
}

#[tokio::test]
async fn images_that_claim_to_be_huge_are_refused_by_their_header() {
    for (width, height) in
        [(30_000, 30_000), (u32::MAX, 1), (i32::MAX as u32, 1), (100_000_001, 1), (10_001, 10_000)]
    {
        let why = refused_quickly(&png_claiming(width, height, &[])).await;
        assert!(why.contains("megapixels") || width == u32::MAX, "{why}");
    }
    let mut jpeg = jpeg((64, 64), &fields(64, 64));
    let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].fill(0xff);
    assert!(refused_quickly(&jpeg).await.contains("65535x65535"));
    let mut gif = gif((64, 64), &fields(64, 64), 1);
    gif[6..10].fill(0xff);
    assert!(refused_quickly(&gif).await.contains("65535x65535"));
    let canvas = [&b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0"[..], &[0xff; 6], b"VP8 \0\0\0\0"];
    refused_quickly(&canvas.concat()).await;
    let tiff =
        raw_tiff(&[(256, 1_000_000), (257, 1_000_000), (258, 8), (262, 1), (273, 8), (279, 8)]);
    assert!(refused_quickly(&tiff).await.contains("megapixels"));
}

#[tokio::test]
async fn the_largest_size_is_allowed_by_its_header() {
    let why = refused_quickly(&png_claiming(10_000, 10_000, &chunk(b"IDAT", &[]))).await;
    assert!(why.contains("damaged"), "{why}");
}

#[tokio::test]
async fn images_without_pixels_are_refused() {
    refused_quickly(&png_claiming(0, 10, &[])).await;
    let mut gif = gif((64, 64), &fields(64, 64), 1);
    gif[6..8].fill(0);
    refused_quickly(&gif).await;
}

#[tokio::test]
async fn what_is_no_accepted_image_is_refused() {
    let heif = b"\0\0\0\x20ftypavif\0\0\0\0avifmif1miaf";
    for file in [
        &b""[..],
        b"\xff",
        b"plain text that is long enough to be something",
        b"<!doctype html><script>alert(1)</script>",
        b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>",
        b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0",
        heif,
    ] {
        assert!(!Processor::sniff(file));
        assert!(refused(file).await.contains("only JPEG"));
    }
    // A beginning is not enough.
    for file in [&b"\xff\xd8\xff\xe0"[..], b"\x89PNG\r\n\x1a\n", b"GIF89a", b"II*\0"] {
        assert!(Processor::sniff(file));
        refused_quickly(file).await;
    }
    refused_quickly(b"RIFF\x10\0\0\0WEBPVP8 ").await;
}

#[tokio::test]
async fn a_file_that_ends_early_is_refused() {
    let mut files = one_of_each((64, 64), &noise(64 * 64 * 3)).to_vec();
    let rgb = noise(64 * 64 * 3);
    let progressive = |e: &mut jpeg_encoder::Encoder<&mut Vec<u8>>| e.set_progressive(true);
    let form = jpeg_encoder::ColorType::Rgb;
    files.push(("progressive jpeg", jpeg_with((64, 64), form, &rgb, progressive)));
    files.push(("lossless webp", webp((64, 64), &rgb, webpx::EncoderConfig::new_lossless())));
    for (name, file) in files {
        assert!(quickly(&file).await.is_ok(), "{name}");
        for tenth in 0..10 {
            let part = &file[..file.len() * tenth / 10];
            let outcome = quickly(part).await;
            assert!(matches!(outcome, Err(Failure::Invalid(_))), "{name} cut at {tenth}0 %");
        }
    }
}

#[tokio::test]
async fn damage_anywhere_is_survived() {
    let mut files = one_of_each((24, 24), &fields(24, 24)).to_vec();
    let lossless = webpx::EncoderConfig::new_lossless();
    files.push(("lossless webp", webp((24, 24), &fields(24, 24), lossless)));
    for (name, file) in files {
        let places = noise(file.len().min(120) * 3);
        for damage in places.chunks(3) {
            let mut file = file.clone();
            // Headers are short, and most of what can go wrong is in them.
            let near = usize::from(damage[0]) * usize::from(damage[1]) * file.len() / (256 * 256);
            file[near] ^= damage[2] | 1;
            match quickly(&file).await {
                Ok(_) | Err(Failure::Invalid(_) | Failure::Options(_)) => (),
                Err(other) => panic!("{name} at {near}: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn of_ten_thousand_frames_one_is_read() {
    let frame = gif((8, 8), &fields(8, 8), 1);
    let (header, frame) = (&frame[..13], &frame[13..frame.len() - 1]);
    let file = [header, &frame.repeat(10_000), b";"].concat();
    assert!(quickly(&file).await.is_ok());
}

#[tokio::test]
async fn compressed_bombs_beside_the_pixels_are_not_opened() {
    let large = || vec![0; 80 << 20];
    let profile =
        png_with((60, 60), &fields(60, 60), |info| info.icc_profile = Some(large().into()));
    assert!(profile.len() < 1 << 20);
    let text = png_with((60, 60), &fields(60, 60), |info| {
        let text = String::from_utf8(large()).unwrap();
        info.compressed_latin1_text.push(png::text_metadata::ZTXtChunk::new("Comment", text));
    });
    for file in [profile, text] {
        let made = quickly(&file).await.unwrap();
        assert_colour(&made.processed.original.file, (0.2, 0.2), RED);
    }
    // Pixels for an image a million times as large as the header says.
    let many = png_with((10_000, 10_000), &large()[..10_000 * 1250], |info| {
        (info.color_type, info.bit_depth) = (png::ColorType::Grayscale, png::BitDepth::One);
    });
    let rest = &many[8 + 25..];
    assert!(quickly(&png_claiming(1, 1, rest)).await.is_ok());
}

#[tokio::test]
async fn a_jpeg_of_hundreds_of_scans_is_refused() {
    let progressive = |e: &mut jpeg_encoder::Encoder<&mut Vec<u8>>| e.set_progressive(true);
    let file = jpeg_with((64, 64), jpeg_encoder::ColorType::Rgb, &fields(64, 64), progressive);
    let last = file.windows(2).rposition(|marker| marker == [0xff, 0xda]).unwrap();
    let (start, scan) = (&file[..last], &file[last..file.len() - 2]);
    let with = |scans| [start, &scan.repeat(scans), b"\xff\xd9"].concat();
    assert!(quickly(&with(1)).await.is_ok());
    refused_quickly(&with(300)).await;
}

/// A TIFF of one directory with one value for each tag, and eight bytes for its pixels.
fn raw_tiff(entries: &[(u16, u32)]) -> Vec<u8> {
    let mut file = b"II*\0\x10\0\0\0\x80\x80\x80\x80\x80\x80\x80\x80".to_vec();
    file.extend((entries.len() as u16).to_le_bytes());
    for (tag, value) in entries {
        file.extend(tag.to_le_bytes());
        file.extend(4_u16.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    file.extend([0; 4]);
    file
}

#[tokio::test]
async fn tiffs_that_lead_nowhere_are_refused() {
    let small = [(256, 4), (257, 2), (258, 8), (262, 1), (273, 8), (279, 8)];
    assert!(quickly(&raw_tiff(&small)).await.is_ok());
    // A directory that is followed by itself.
    let mut ring = raw_tiff(&small);
    let next = ring.len() - 4;
    ring[next] = 16;
    refused_quickly(&ring).await;
    refused_quickly(b"II*\0\xf0\xff\xff\xff").await;
    let with = |tag: u16, value: u32| {
        let mut entries: Vec<_> = small.into_iter().filter(|(t, _)| *t != tag).collect();
        entries.push((tag, value));
        entries.sort_unstable();
        raw_tiff(&entries)
    };
    assert!(quickly(&with(256, 3)).await.is_ok());
    for (tag, value) in [
        (273, 0xffff_fff0),
        (279, 0xffff_fff0),
        (257, 16_000),
        (258, 4_000_000),
        (277, 60_000),
        // Each piece would be a JPEG, of any size.
        (259, 7),
        (259, 6),
    ] {
        refused_quickly(&with(tag, value)).await;
    }
    // Tiles far larger than the image.
    let tiles =
        [(256, 4), (257, 2), (258, 8), (262, 1), (322, 65_536), (323, 65_536), (324, 8), (325, 8)];
    refused_quickly(&raw_tiff(&tiles)).await;
}

#[tokio::test]
async fn a_webp_whose_parts_claim_gigabytes_is_no_harm() {
    let file = webp((64, 64), &fields(64, 64), lossy().exif(*b"some block"));
    let at = file.windows(4).position(|name| name == b"EXIF").unwrap();
    let mut file = file;
    file[at + 4..at + 8].copy_from_slice(&[0xf0, 0xff, 0xff, 0xff]);
    match quickly(&file).await {
        Ok(_) | Err(Failure::Invalid(_)) => (),
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_pixel_cannot_be_blown_up() {
    let sizes: serde_json::Map<_, _> =
        (0..20).map(|n| (format!("v{n}"), json!({"width": 10_000, "height": 10_000}))).collect();
    let options = json!({"mode": "exact-dimensions", "dimensions": sizes});
    let outcome = process(&png_fields(1, 1), options).await;
    assert!(matches!(outcome, Err(Failure::Options(_))));
}

#[tokio::test]
async fn what_webp_cannot_hold_is_for_another_format() {
    let file = png((17_000, 2), png::ColorType::Grayscale, png::BitDepth::Eight, &[9; 34_000]);
    let with = |format| json!({"mode": "original-aspect", "format": format});
    match process(&file, with("webp")).await {
        Err(Failure::Options(why)) => assert!(why.contains("16383"), "{why}"),
        other => panic!("{:?}", other.map(|made| made.processed)),
    }
    assert_eq!(made(&file, with("jpeg")).await.processed.original.width, 17_000);
}
