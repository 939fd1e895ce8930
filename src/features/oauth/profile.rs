//! The account behind the tokens of a provider. What a provider does not say clearly counts as not said: an
//! address is verified only if the provider says so.

use aws_lc_rs::hmac;
use serde_json::Value;
use url::Url;

use crate::auth::claims;
use crate::error::Result;
use crate::features::identities::published::{self, Issuer};
use crate::features::identities::store::Account;
use crate::features::oauth::callback::Failed;
use crate::features::oauth::exchange::{Tokens, about_user};
use crate::features::oauth::provider::{Endpoints, Famous, Provider};
use crate::features::users::rules::Email;
use crate::state::App;
use crate::values::ids::ProjectId;
use crate::values::random::hex;
use crate::values::time::Timestamp;

/// By how many seconds the clock of a provider may differ.
const SKEW: f64 = 60.0;
const MAX_ID: usize = 255;
const MAX_NAME: usize = 255;
const MAX_AVATAR: usize = 2048;

/// The account, from the ID token of an OpenID provider or from the profile of any other.
pub(super) async fn account(
    app: &App,
    project: ProjectId,
    (provider, endpoints): (&Provider, &Endpoints),
    tokens: Tokens,
    nonce: &str,
    now: Timestamp,
) -> Result<Account, Failed> {
    if let Some(issuer) = &endpoints.issuer {
        let token = tokens.id_token.ok_or_else(|| Failed::exchange("There is no ID token"))?;
        let mut claims = id_token(app, provider, issuer, &token, (nonce, now)).await?;
        if let (Some(token), Ok(url)) = (tokens.access_token, issuer.url("userinfo_endpoint"))
            && claims["email"].is_null()
        {
            add(&mut claims, about_user(app, url, &token).await?)?;
        }
        return of_claims(provider, &claims);
    }
    let token = tokens.access_token.ok_or_else(|| Failed::exchange("There is no access token"))?;
    let url = provider.user_url()?;
    match provider.famous {
        Some(Famous::Github) => {
            let user = about_user(app, &url, &token).await?;
            // Refused to apps that did not ask for addresses.
            let emails = about_user(app, &provider.emails_url(), &token).await;
            of_github(provider, &user, &emails.unwrap_or_default())
        }
        Some(Famous::Facebook) => {
            let secret = provider.client_secret(app, project, now)?;
            let url = facebook_url(&url, &token, secret.as_deref());
            of_facebook(provider, &about_user(app, &url, &token).await?)
        }
        _ => of_claims(provider, &about_user(app, &url, &token).await?),
    }
}

/// The claims of an ID token for this client and this sign-in (OpenID Connect Core 1.0, 3.1.3.7).
async fn id_token(
    app: &App,
    provider: &Provider,
    issuer: &Issuer,
    token: &str,
    (nonce, now): (&str, Timestamp),
) -> Result<Value, Failed> {
    let refused = |why: &'static str| {
        tracing::warn!(provider = provider.name, why, "an ID token was refused");
        Failed::exchange("The ID token of the provider is not valid")
    };
    let claims = published::verified(app, issuer.url("jwks_uri")?, token).await?;
    let claims = claims.ok_or_else(|| refused("signature"))?;
    let client = &provider.settings.client_id;
    let party = &claims["azp"];
    let is_alone = claims["aud"].as_array().is_none_or(|all| all.len() == 1);
    if Some(&claims["iss"]) != issuer.document.get("issuer") {
        return Err(refused("issuer"));
    }
    if !claims::is_for(&claims, client) || !(party == client || (party.is_null() && is_alone)) {
        return Err(refused("audience"));
    }
    if claims["exp"].is_null() || !claims::is_in_time(&claims, now, SKEW) {
        return Err(refused("time"));
    }
    if claims["nonce"] != nonce {
        return Err(refused("nonce"));
    }
    Ok(claims)
}

/// Many providers put only the id of the user into the ID token, and everything else into the profile.
fn add(claims: &mut Value, profile: Value) -> Result<(), Failed> {
    // Otherwise the profile of somebody else could be put in its place.
    if profile["sub"] != claims["sub"] {
        return Err(Failed::exchange("The profile is not of this user"));
    }
    for name in ["email", "email_verified", "name", "picture"] {
        if claims[name].is_null() {
            claims[name] = profile[name].clone();
        }
    }
    Ok(())
}

/// The standard claims of OpenID Connect, in an ID token or a profile.
fn of_claims(provider: &Provider, claims: &Value) -> Result<Account, Failed> {
    let verified = &claims["email_verified"];
    Ok(Account {
        provider: provider.name.clone(),
        id: id(&claims["sub"])?,
        email: email(&claims["email"]),
        name: text(&claims["name"], MAX_NAME),
        avatar: avatar(&claims["picture"]),
        // Apple writes it as text.
        is_verified: verified == true || verified == "true",
    })
}

/// An address of the list is verified if the list says so. The public one may not be on it.
fn of_github(provider: &Provider, user: &Value, emails: &Value) -> Result<Account, Failed> {
    let listed = || emails.as_array().into_iter().flatten();
    let shown = email(&user["email"]);
    let of_shown = listed().find(|one| shown.is_some() && email(&one["email"]) == shown);
    let primary = listed().find(|one| one["primary"] == true);
    let chosen = of_shown.or(primary.filter(|_| shown.is_none()));
    Ok(Account {
        provider: provider.name.clone(),
        id: id(&user["id"])?,
        email: chosen.and_then(|one| email(&one["email"])).or(shown),
        name: text(&user["name"], MAX_NAME).or_else(|| text(&user["login"], MAX_NAME)),
        avatar: avatar(&user["avatar_url"]),
        is_verified: chosen.is_some_and(|one| one["verified"] == true),
    })
}

/// Facebook shows an address only after it was confirmed.
fn of_facebook(provider: &Provider, user: &Value) -> Result<Account, Failed> {
    let email = email(&user["email"]);
    Ok(Account {
        provider: provider.name.clone(),
        id: id(&user["id"])?,
        is_verified: email.is_some(),
        email,
        name: text(&user["name"], MAX_NAME),
        avatar: avatar(&user["picture"]["data"]["url"]),
    })
}

/// With the fields that are shown only on demand, and a proof that the token was not stolen from another app.
fn facebook_url(url: &str, token: &str, secret: Option<&str>) -> String {
    let Ok(mut url) = Url::parse(url) else { return url.to_owned() };
    url.query_pairs_mut().append_pair("fields", "id,name,email,picture.type(large)");
    if let Some(secret) = secret {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let proof = hex(hmac::sign(&key, token.as_bytes()).as_ref());
        url.query_pairs_mut().append_pair("appsecret_proof", &proof);
    }
    url.into()
}

/// The name that Apple sends along with a user's first consent, and never again. It comes through the
/// browser, unsigned, so nothing else of it counts.
pub(super) fn name_of_form(user: &str) -> Option<String> {
    let user: Value = serde_json::from_str(user).ok()?;
    let part = |name: &str| text(&user["name"][name], MAX_NAME);
    let parts: Vec<String> = [part("firstName"), part("lastName")].into_iter().flatten().collect();
    text(&Value::String(parts.join(" ")), MAX_NAME)
}

fn id(value: &Value) -> Result<String, Failed> {
    let id = match value {
        Value::String(id) => id.clone(),
        Value::Number(id) => id.to_string(),
        _ => String::new(),
    };
    let fits = (1..=MAX_ID).contains(&id.len()) && !id.contains(char::is_control);
    fits.then_some(id).ok_or_else(|| Failed::exchange("The provider does not say who it is"))
}

fn email(value: &Value) -> Option<String> {
    Email::try_from(value.as_str()?.to_owned()).ok().map(Email::into_text)
}

/// Without control characters, cut to its maximum length.
fn text(value: &Value, most: usize) -> Option<String> {
    let plain = value.as_str()?.chars().filter(|c| !c.is_control()).collect::<String>();
    let cut: String = plain.trim().chars().take(most).collect();
    (!cut.is_empty()).then_some(cut)
}

fn avatar(value: &Value) -> Option<String> {
    let url = value.as_str().filter(|url| url.len() <= MAX_AVATAR)?;
    let parsed = Url::parse(url).ok()?;
    matches!(parsed.scheme(), "http" | "https").then(|| parsed.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_forms_are_plain_texts() {
        let name = |text: &str| name_of_form(text);
        let whole = r#"{"name":{"firstName":" Ada ","lastName":"King\u0000"},"email":"x@y.z"}"#;
        assert_eq!(name(whole).as_deref(), Some("Ada King"));
        assert_eq!(name(r#"{"name":{"lastName":"King"}}"#).as_deref(), Some("King"));
        for empty in ["", "null", "{}", r#"{"name":"Ada"}"#, r#"{"name":{"firstName":" "}}"#] {
            assert_eq!(name(empty), None, "{empty}");
        }
        assert_eq!(text(&Value::String("é".repeat(300)), 255).unwrap().chars().count(), 255);
    }

    #[test]
    fn only_web_addresses_are_pictures() {
        let of = |text: &str| avatar(&Value::String(text.to_owned()));
        assert_eq!(of("https://a.example/p.png").as_deref(), Some("https://a.example/p.png"));
        for bad in ["", "p.png", "javascript:alert(1)", "data:image/png;base64,x"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
