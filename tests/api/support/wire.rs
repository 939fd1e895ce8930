//! HTTP as bytes on a socket, from any address of this machine: each address of 127.0.0.0/8 is a network
//! of its own to the server.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType};

use super::TestApp;

/// Far longer than anything here takes: a test that would wait for ever fails instead.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub fn connect(app: &TestApp) -> TcpStream {
    connect_from(app, 1)
}

/// From 127.0.0.`host`.
pub fn connect_from(app: &TestApp, host: u8) -> TcpStream {
    let from = SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0));
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &from).unwrap();
    rustix::net::connect(&socket, &app.address).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub fn send(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).unwrap();
}

/// Everything until the server closes the connection.
pub fn until_closed(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("{error}: {}", answer.escape_ascii()),
    }
    String::from_utf8(answer).unwrap()
}

/// One reply: its head, and as much of a body as the head announces.
pub fn one_reply(stream: &mut TcpStream) -> String {
    let head = one_head(stream);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

/// The head of a reply that has no body, whatever it announces.
pub fn one_head(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    String::from_utf8(answer).unwrap()
}

pub fn status(reply: &str) -> &str {
    reply.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).unwrap_or(reply)
}

/// Asks on a connection of its own and reads what there is until the connection ends.
pub fn ask_from(app: &TestApp, host: u8, path: &str) -> String {
    let mut stream = connect_from(app, host);
    send(&mut stream, &get(path, "Connection: close\r\n"));
    until_closed(stream)
}

pub fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n")
}
