//! Forms with files, as a browser sends them, and images to put into them.

use std::fmt::Write as _;

use bytes::Bytes;

const BOUNDARY: &str = "----TownhallTest7MA4YWxk";

#[derive(Debug, Clone, Default)]
pub struct Form(Vec<u8>);

/// A file of a form.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    pub name: &'a str,
    pub file: &'a str,
    pub mime: &'a str,
    pub bytes: &'a [u8],
}

impl Form {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn text(self, name: &str, value: &str) -> Self {
        self.part(&format!("Content-Disposition: form-data; name=\"{name}\""), value.as_bytes())
    }

    pub fn json(self, name: &str, value: serde_json::Value) -> Self {
        self.text(name, &value.to_string())
    }

    pub fn file(self, part: Part<'_>) -> Self {
        let mut head = format!("Content-Disposition: form-data; name=\"{}\"", part.name);
        let _ = write!(head, "; filename=\"{}\"", part.file);
        if !part.mime.is_empty() {
            let _ = write!(head, "\r\nContent-Type: {}", part.mime);
        }
        self.part(&head, part.bytes)
    }

    /// A part with these headers.
    pub fn part(mut self, head: &str, content: &[u8]) -> Self {
        self.0.extend_from_slice(format!("--{BOUNDARY}\r\n{head}\r\n\r\n").as_bytes());
        self.0.extend_from_slice(content);
        self.0.extend_from_slice(b"\r\n");
        self
    }

    pub fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={BOUNDARY}")
    }

    pub fn body(&self) -> Bytes {
        [&self.0[..], format!("--{BOUNDARY}--\r\n").as_bytes()].concat().into()
    }

    /// Everything but the end.
    pub fn unfinished(&self) -> Vec<u8> {
        self.0.clone()
    }
}

/// An image of one colour that varies a little, so that it does not compress to nothing.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let pixels = (0..width * height).flat_map(|n| {
        let shade = u8::try_from(n % 251).unwrap();
        [shade, 90, 200 - shade / 2]
    });
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels.collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
    out
}

/// A PNG whose header claims so many pixels, and which holds none of them.
pub fn png_claiming(width: u32, height: u32) -> Vec<u8> {
    let mut file = png(1, 1);
    file[16..20].copy_from_slice(&width.to_be_bytes());
    file[20..24].copy_from_slice(&height.to_be_bytes());
    let checksum = crc(&file[12..29]).to_be_bytes();
    file[29..33].copy_from_slice(&checksum);
    file
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 }
        })
    })
}
