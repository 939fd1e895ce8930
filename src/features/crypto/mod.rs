//! Sign Testing JWT: signs a token as a project's backend would, for trying external sign-in without a
//! backend. The private key is sent with the request and never stored.

use std::time::Duration;

use http::{Method, StatusCode};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;

use crate::auth::caller::Anyone;
use crate::auth::rs256;
use crate::auth::tokens::SERVER;
use crate::error::{Error, Result, faults};
use crate::http::input::{Body, Invalid};
use crate::http::operation::{Call, Operation, ServerCall};
use crate::http::reply::{Reply, ReplyDoc, Response, TEXT, Text, with_body};
use crate::rate_limits::RateLimit;
use crate::values::json;
use crate::values::time::Timestamp;

faults! {
    MISSING_PARAMS = 400 "crypto/missing-params": "The payload needs an id";
    INVALID_KEY = 400 "crypto/invalid-key": "The private key is not a usable RSA key";
}

const TTL: Duration = Duration::from_secs(5 * 60);

pub fn operations() -> Vec<Operation> {
    let invalid = Invalid::all(MISSING_PARAMS);
    [
        ("/crypto/sign-testing-jwt", "Sign Testing JWT"),
        ("/crypto/sign-testing-jwt/v2", "Sign Testing JWT v2"),
    ]
    .map(|(path, name)| {
        Operation::new(Method::POST, path, name, "crypto", invalid, sign_testing_jwt)
            .open_to_suspended()
            .no_store()
            .errors(&[INVALID_KEY])
    })
    .into_iter()
    .chain([Operation::server(
        "/internal/crypto/sign-testing-jwt",
        "Sign Testing JWT outside a Project",
        sign_outside_project,
    )
    .method(Method::POST)
    .body::<SignTestingJwt>()
    .rate(RateLimit::per_5_minutes(50))
    .no_store()
    .errors(&[MISSING_PARAMS, INVALID_KEY])])
    .collect()
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SignTestingJwt {
    private_key: Option<String>,
    /// The user: `id` and any other claims of external sign-in. Both names are accepted.
    payload: Option<Value>,
    user_data: Option<Value>,
    /// Overrides the project of the path.
    project_id: Option<String>,
}

enum Signed {
    Jwt(String),
    /// Plain text, as clients of this operation expect.
    MissingParams,
}

impl Reply for Signed {
    fn into_response(self) -> Result<Response> {
        match self {
            Signed::Jwt(jwt) => Text(jwt).into_response(),
            Signed::MissingParams => {
                Ok(with_body(StatusCode::BAD_REQUEST, TEXT, "Missing params in request body"))
            }
        }
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        let mut docs = Text::describe(generator);
        let schema = generator.subschema_for::<String>();
        docs.push(ReplyDoc { status: 400, content: Some(("text/plain", schema)) });
        docs
    }
}

async fn sign_testing_jwt(call: Call<Anyone>, Body(body): Body<SignTestingJwt>) -> Result<Signed> {
    let project = body.project_id.clone().unwrap_or_else(|| call.project.id.to_string());
    sign(body, project, call.now).await
}

/// For clients that call it without a project in the address: the body names it.
async fn sign_outside_project(call: ServerCall) -> Result<Signed> {
    json::check(&call.body).map_err(|why| MISSING_PARAMS.because(why))?;
    let body: SignTestingJwt = serde_json::from_slice(&call.body).map_err(|_| MISSING_PARAMS)?;
    let project = body.project_id.clone();
    let project = project.ok_or_else(|| MISSING_PARAMS.because("projectId is required"))?;
    sign(body, project, call.app.clock.now()).await
}

async fn sign(body: SignTestingJwt, project: String, now: Timestamp) -> Result<Signed> {
    let user = body.payload.or(body.user_data).filter(Value::is_object);
    let (Some(private_key), Some(user)) = (body.private_key, user) else {
        return Ok(Signed::MissingParams);
    };
    let sub = match &user["id"] {
        Value::String(id) => id.clone(),
        Value::Number(id) => id.to_string(),
        _ => return Err(MISSING_PARAMS.into()),
    };
    let claims = serde_json::json!({
        "sub": sub,
        "iss": project,
        "aud": SERVER,
        "iat": now.seconds(),
        "exp": now.plus(TTL).seconds(),
        "userData": user,
    });
    // An RSA signature takes about a millisecond: not on an async worker.
    let signed = tokio::task::spawn_blocking(move || rs256::sign(&private_key, &claims)).await;
    signed.map_err(Error::internal)?.map(Signed::Jwt).ok_or(INVALID_KEY.into())
}
