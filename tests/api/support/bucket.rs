//! A bucket that speaks S3, for one test: moto's server, from the directory that `scripts/test`
//! installs it into.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use http::Method;

use super::TestConfig;
use super::listening::address_of;

#[derive(Debug)]
pub struct Bucket {
    server: Child,
    address: SocketAddr,
}

pub const BUCKET: &str = "townhall-test";

impl Bucket {
    /// A server with one empty bucket.
    pub async fn open() -> Bucket {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/moto/bin/moto_server");
        assert!(program.exists(), "moto is missing: scripts/test installs it into target/moto");
        let mut server = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", "0"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (address, _) = address_of(&mut server, |line| {
            let (_, address) = line.trim_end().split_once("Running on http://")?;
            Some(address.parse().unwrap())
        });
        let bucket = Bucket { server, address };
        assert_eq!(bucket.request(Method::PUT, &format!("/{BUCKET}")).await.0, 200);
        bucket
    }

    /// The settings of a server that stores its files here.
    pub fn configure(&self, config: &mut TestConfig) {
        config.set("TOWNHALL_STORAGE", &format!("s3://{BUCKET}/some/where"));
        config.set("TOWNHALL_S3_PATH_STYLE", "1");
        config.set("AWS_ENDPOINT_URL", &format!("http://{}", self.address));
        config.set("AWS_ACCESS_KEY_ID", "test");
        config.set("AWS_SECRET_ACCESS_KEY", "test");
        config.set("AWS_REGION", "us-east-1");
    }

    /// The keys of everything in the bucket, sorted.
    pub async fn keys(&self) -> Vec<String> {
        let (status, listed) = self.request(Method::GET, &format!("/{BUCKET}?list-type=2")).await;
        assert_eq!(status, 200, "{listed}");
        let keys = listed.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
        let mut keys: Vec<String> = keys.map(ToOwned::to_owned).collect();
        keys.sort();
        keys
    }

    /// The server goes away, and with it everything that it stored.
    pub fn close(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }

    async fn request(&self, method: Method, path: &str) -> (u16, String) {
        let client = super::actors::Client::new();
        let uri = format!("http://{}{path}", self.address);
        client.plain(method, &uri).await
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        self.close();
    }
}
