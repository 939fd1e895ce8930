//! Plays APNs: HTTP/2 alone, and a reply for each device token as a test says.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Response, Version};
use http_body_util::{BodyExt as _, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

#[derive(Debug, Clone)]
pub struct Apns {
    address: SocketAddr,
    replies: Arc<Mutex<HashMap<String, (u16, Value)>>>,
    requests: Arc<Mutex<Vec<Request>>>,
    pub connections: Arc<AtomicUsize>,
}

impl Apns {
    pub async fn start() -> Apns {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let apns = Apns {
            address: listener.local_addr().unwrap(),
            replies: Arc::default(),
            requests: Arc::default(),
            connections: Arc::default(),
        };
        let own = apns.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                own.connections.fetch_add(1, SeqCst);
                let own = own.clone();
                let service = service_fn(move |request| own.clone().answer(request));
                tokio::spawn(
                    hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        apns
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What a device token gets from now on, instead of success.
    pub fn reply(&self, token: &str, status: u16, reason: &str) {
        let reply = (status, json!({ "reason": reason }));
        self.replies.lock().unwrap().insert(format!("/3/device/{token}"), reply);
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    async fn answer(
        self,
        request: http::Request<hyper::body::Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        assert_eq!(request.version(), Version::HTTP_2);
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let path = head.uri.path().to_owned();
        self.requests.lock().unwrap().push(Request {
            method: head.method.to_string(),
            path: path.clone(),
            headers: head.headers,
            body: serde_json::from_slice(&body).unwrap(),
        });
        let reply = self.replies.lock().unwrap().get(&path).cloned();
        let (status, body) = match reply {
            Some((status, reason)) => (status, reason.to_string()),
            None => (200, String::new()),
        };
        Ok(Response::builder().status(status).body(Full::new(body.into())).unwrap())
    }
}
