//! Pictures that are small as files and huge as pixels: a request with three of them costs next to
//! nothing, and ten such requests beside ten with one each starve nobody's small picture.

use std::net::SocketAddr;
use std::time::Duration;

use bench::clock::now;
use bench::store::Engine;
use bench::usage::{Cpu, peak_bytes, resident_bytes};
use tokio::task::JoinSet;

use super::MIB;
use crate::http::{Caller, form, request};
use crate::trial::{Figure, Setup};
use crate::world::World;

const EDGE: u32 = 9_990;
/// How long small pictures are sent beside the huge ones.
const LENGTH: Duration = Duration::from_secs(5);
const MAX_CPU_SECONDS: f64 = 1.0;
/// One of the largest is worked on at a time, with 12 bytes for each of its pixels.
const MAX_MIB: u64 = 1200;

pub async fn trial(setup: &Setup) -> Result<Figure, String> {
    let world = World::start(setup, Engine::Sqlite, 2, &[]).await?;
    let (address, pid) = (world.server.address, world.server.pid());
    let (path, before) = (world.path("/entities"), resident_bytes(pid));
    let [attacker, other] = [0, 1].map(|number| world.people[number].token.clone());
    let (huge, small) = (picture(EDGE)?, picture(64)?);

    let cpu = Cpu::so_far(Some(pid));
    upload(address, &path, &attacker, &[&huge, &huge, &huge]).await?;
    let cost = (Cpu::so_far(Some(pid)) - cpu).server;

    let mut attack = JoinSet::new();
    for pictures in [1, 3].into_iter().cycle().take(20) {
        let (path, token, huge) = (path.clone(), attacker.clone(), huge.clone());
        attack.spawn(async move {
            let files: Vec<&[u8]> = (0..pictures).map(|_| huge.as_slice()).collect();
            upload(address, &path, &token, &files).await
        });
    }
    let (mut sent, mut refused) = (0, 0);
    let end = now() + LENGTH;
    while now() < end {
        sent += 1;
        refused += u32::from(upload(address, &path, &other, &[&small]).await? != 201);
    }
    attack.abort_all();
    let grown = peak_bytes(pid).saturating_sub(before) / MIB;
    let text = format!(
        "three pictures of {EDGE}² cost {cost:.1} CPU-seconds; beside 40 of them {refused} of \
         {sent} small uploads refused, {grown} MiB more memory"
    );
    Ok(Figure::new(cost < MAX_CPU_SECONDS && refused == 0 && grown < MAX_MIB, text))
}

/// Creates an entity with these pictures; returns the status of the reply.
async fn upload(
    address: SocketAddr,
    path: &str,
    token: &str,
    pictures: &[&[u8]],
) -> Result<u16, String> {
    let options = br#"{"mode":"original-aspect","sizes":{"small":200}}"#;
    let mut parts: Vec<(&str, Option<&str>, &[u8])> = vec![("images.options", None, options)];
    parts.extend(pictures.iter().map(|file| ("images.files", Some("picture.png"), *file)));
    let (media, body) = form(&parts);
    let sent = request("POST", path, token, Some((&media, &body)));
    Caller::new(address).send(&sent).await.map(|reply| reply.status)
}

/// A white square as PNG with one bit for each pixel.
fn picture(edge: u32) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, edge, edge);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    let row = usize::try_from(edge.div_ceil(8)).map_err(|error| error.to_string())?;
    let mut writer = encoder.write_header().map_err(|error| error.to_string())?;
    let pixels = vec![0xff; row * edge as usize];
    writer.write_image_data(&pixels).map_err(|error| error.to_string())?;
    writer.finish().map_err(|error| error.to_string())?;
    Ok(bytes)
}
