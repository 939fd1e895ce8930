//! Outside issuers that a project trusts to vouch for its users (Auth0, Firebase, Supabase, Clerk, Keycloak and
//! the like): their JWTs are verified by the keys that they publish, and must be meant for the project.

use std::collections::BTreeMap;

use db::Conn;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::auth::claims;
use crate::auth::jwk::Jwt;
use crate::error::{Error, Result};
use crate::features::identities::published;
use crate::features::identities::store::issuers as store;
use crate::outbound::Target;
use crate::state::App;
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

/// By how many seconds the clock of an issuer may differ.
const SKEW: f64 = 60.0;
/// The fields of a user that a claim may fill, and the claims that do so unless the operator says otherwise.
/// A username must be free, so none is taken by default.
pub const FIELDS: [(&str, Option<&str>); 7] = [
    ("email", Some("email")),
    ("name", Some("name")),
    ("avatar", Some("picture")),
    ("username", None),
    ("bio", None),
    ("metadata", None),
    ("secureMetadata", None),
];

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Where its keys are, unless they are found by discovery.
    pub jwks_url: Option<String>,
    /// Audiences of which its tokens must have one; if empty, they may have any.
    pub audiences: Vec<String>,
    /// Claims by the fields that they fill; an empty one fills nothing.
    pub claims: BTreeMap<String, String>,
    /// Whether addresses count as verified though the token does not say so.
    pub trusts_email: bool,
}

#[derive(Debug, Clone)]
pub struct JwtIssuer {
    pub issuer: String,
    pub settings: Settings,
}

/// What a verified token says of a user.
#[derive(Debug)]
pub struct Vouched {
    pub issuer: String,
    pub sub: Value,
    /// The fields of the user, by their names in the API.
    pub user: Map<String, Value>,
    /// Whether the issuer has verified the address.
    pub has_verified_email: bool,
}

/// The issuer of the project that this token names, if there is one.
pub async fn named_by(app: &App, project: ProjectId, token: &str) -> Result<Option<JwtIssuer>> {
    let token = Jwt::parse(token);
    let Some(issuer) = token.as_ref().and_then(Jwt::unverified_issuer) else { return Ok(None) };
    if issuer.parse() == Ok(project) {
        return Ok(None);
    }
    let issuer = issuer.to_owned();
    app.db.read(move |c| find(c, project, &issuer)).await
}

pub fn find(c: &Conn<'_>, project: ProjectId, issuer: &str) -> Result<Option<JwtIssuer>> {
    let Some(row) = store::find(c, project, issuer)? else { return Ok(None) };
    let settings = serde_json::from_str(&row.settings.0).map_err(Error::internal)?;
    Ok(Some(JwtIssuer { issuer: row.issuer, settings }))
}

impl JwtIssuer {
    /// What the token says, if it holds.
    pub async fn verify(self, app: &App, token: &str, now: Timestamp) -> Result<Option<Vouched>> {
        let jwks_url = match &self.settings.jwks_url {
            Some(url) => url.clone(),
            None => published::discover(app, &self.issuer).await?.url("jwks_uri")?.to_owned(),
        };
        let verified = published::verified(app, &jwks_url, token).await?;
        Ok(verified.filter(|claims| self.accepts(claims, now)).map(|claims| self.read(&claims)))
    }

    fn accepts(&self, claims: &Value, now: Timestamp) -> bool {
        let audiences = &self.settings.audiences;
        claims["iss"] == self.issuer
            && (audiences.is_empty() || audiences.iter().any(|one| claims::is_for(claims, one)))
            && claims::is_in_time(claims, now, SKEW)
    }

    fn read(self, claims: &Value) -> Vouched {
        let verified = &claims["email_verified"];
        let user = FIELDS.iter().filter_map(|(field, usual)| {
            let claim = self.settings.claims.get(*field).map(String::as_str).or(*usual)?;
            let value = find_claim(claims, claim).filter(|value| !value.is_null())?;
            Some(((*field).to_owned(), value.clone()))
        });
        Vouched {
            sub: claims["sub"].clone(),
            user: user.collect(),
            has_verified_email: self.settings.trusts_email
                || verified == true
                || verified == "true",
            issuer: self.issuer,
        }
    }
}

/// A claim by its name, or by the names on the way to it: `user_metadata.full_name`.
fn find_claim<'a>(claims: &'a Value, name: &str) -> Option<&'a Value> {
    claims.get(name).or_else(|| name.split('.').try_fold(claims, |value, part| value.get(part)))
}

/// What is wrong with an issuer, if anything is.
pub fn check(issuer: &str, settings: &Settings) -> Result<(), String> {
    // A blank separates issuer and `sub` in the id of an account.
    let is_plain = !issuer.contains(|c: char| c.is_control() || c.is_whitespace());
    if issuer.is_empty() || issuer.len() > 2048 || !is_plain {
        return Err("--issuer must be the `iss` of the tokens, without blanks".to_owned());
    }
    match &settings.jwks_url {
        Some(url) => Target::parse(url).map(drop).map_err(|error| format!("`{url}`: {error}"))?,
        None => check_address(issuer)?,
    }
    for field in settings.claims.keys() {
        if !FIELDS.iter().any(|(known, _)| known == field) {
            let known = FIELDS.map(|(field, _)| field).join(", ");
            return Err(format!("`{field}` is no field that a claim can fill: {known}"));
        }
    }
    Ok(())
}

/// The address of an issuer with discovery. Its spelling is compared with that of tokens, so it is stored as
/// it is.
pub fn check_address(issuer: &str) -> Result<(), String> {
    let target = Target::parse(issuer).map_err(|error| format!("`{issuer}`: {error}"))?;
    match target.url().query() {
        Some(_) => Err(format!("`{issuer}`: an issuer has no query")),
        None if issuer.contains('#') => Err(format!("`{issuer}`: an issuer has no fragment")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_fill_fields_by_name_or_by_path() {
        let claims = json!({
            "sub": "7", "email": "a@b.c", "email_verified": "true", "name": "Ada", "nickname": "ada",
            "https://app.example/role": "x", "user_metadata": { "full_name": "Ada King", "nothing": null },
        });
        let read = |claims_by_field: &[(&str, &str)]| {
            let named = claims_by_field.iter().map(|(f, c)| ((*f).to_owned(), (*c).to_owned()));
            let settings = Settings { claims: named.collect(), ..Settings::default() };
            JwtIssuer { issuer: "i".to_owned(), settings }.read(&claims)
        };
        let usual = read(&[]);
        assert_eq!(json!(usual.user), json!({ "email": "a@b.c", "name": "Ada" }));
        assert!(usual.has_verified_email);
        let own = read(&[
            ("name", "user_metadata.full_name"),
            ("username", "nickname"),
            ("bio", "https://app.example/role"),
            ("avatar", "user_metadata.nothing"),
            ("email", ""),
        ]);
        let expected = json!({ "name": "Ada King", "username": "ada", "bio": "x" });
        assert_eq!(json!(own.user), expected);
    }
}
