//! The providers of a project: what is stored about each, and what is known about the four famous ones.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::auth::es256;
use crate::error::{Error, Result};
use crate::features::identities::published::{self, Issuer};
use crate::features::oauth::store::{self, ProviderRow};
use crate::state::App;
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

/// What is stored of a provider besides its secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    pub client_id: String,
    /// Where the app takes users back, each to be matched exactly.
    pub redirect_uris: Vec<String>,
    pub enabled: bool,
    pub scopes: Option<Vec<String>>,
    pub issuer: Option<String>,
    pub authorize_url: Option<String>,
    pub token_url: Option<String>,
    pub user_url: Option<String>,
    pub emails_url: Option<String>,
    pub token_auth: Option<TokenAuth>,
    /// Of Apple: with them, the client's secret is the private key that signs its real secrets.
    pub team_id: Option<String>,
    pub key_id: Option<String>,
    /// Whether browsers of apps elsewhere come to this server before they go to the provider.
    pub bind_browser: bool,
}

/// How the client authenticates at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum TokenAuth {
    /// In the `Authorization` header.
    Basic,
    /// In the form.
    Post,
}

/// A provider that is known without any configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Famous {
    Google,
    Github,
    Facebook,
    Apple,
}

impl Famous {
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "google" => Some(Famous::Google),
            "github" => Some(Famous::Github),
            "facebook" => Some(Famous::Facebook),
            "apple" => Some(Famous::Apple),
            _ => None,
        }
    }

    const fn issuer(self) -> Option<&'static str> {
        match self {
            Famous::Google => Some("https://accounts.google.com"),
            Famous::Apple => Some("https://appleid.apple.com"),
            Famous::Github | Famous::Facebook => None,
        }
    }

    const fn scopes(self) -> &'static str {
        match self {
            Famous::Google => OPENID_SCOPES,
            Famous::Github => "user:email",
            Famous::Facebook => "email public_profile",
            Famous::Apple => "name email",
        }
    }

    /// The addresses of those that have no discovery: for users, for tokens, of the profile.
    const fn addresses(self) -> Option<[&'static str; 3]> {
        match self {
            Famous::Github => Some([
                "https://github.com/login/oauth/authorize",
                "https://github.com/login/oauth/access_token",
                "https://api.github.com/user",
            ]),
            Famous::Facebook => Some([
                "https://www.facebook.com/v23.0/dialog/oauth",
                "https://graph.facebook.com/v23.0/oauth/access_token",
                "https://graph.facebook.com/v23.0/me",
            ]),
            Famous::Google | Famous::Apple => None,
        }
    }
}

const OPENID_SCOPES: &str = "openid email profile";
const GITHUB_EMAILS: &str = "https://api.github.com/user/emails";
/// How long a client secret for Apple is valid: it is made for one request.
const APPLE_SECRET_SECONDS: i64 = 300;

#[derive(Debug, Clone)]
pub struct Provider {
    pub name: String,
    pub famous: Option<Famous>,
    pub settings: Settings,
    /// Sealed.
    secret: Option<Vec<u8>>,
}

/// Where a provider is reached.
#[derive(Debug, Clone)]
pub(super) struct Endpoints {
    pub authorize: String,
    pub token: String,
    pub token_auth: TokenAuth,
    /// Of a provider that speaks OpenID Connect.
    pub issuer: Option<Issuer>,
}

impl Provider {
    pub fn read(row: ProviderRow) -> Result<Self> {
        Ok(Provider {
            famous: Famous::from_name(&row.provider),
            name: row.provider,
            settings: serde_json::from_str(&row.settings.0).map_err(Error::internal)?,
            secret: row.client_secret,
        })
    }

    /// The provider if it is configured and enabled.
    pub(super) async fn find(app: &App, project: ProjectId, name: &str) -> Result<Option<Self>> {
        let name = name.to_owned();
        let row = app.db.read(move |c| store::find_provider(c, project, &name)).await?;
        let found = row.map(Provider::read).transpose()?;
        Ok(found.filter(|provider| provider.settings.enabled))
    }

    /// The issuer of its ID tokens. One with a profile address of its own needs none.
    pub fn issuer(&self) -> Option<&str> {
        let famous = self.famous.and_then(Famous::issuer);
        let own = self.settings.issuer.as_deref();
        own.or(famous.filter(|_| self.settings.user_url.is_none()))
    }

    pub fn scopes(&self) -> String {
        let famous = self.famous.map_or(OPENID_SCOPES, Famous::scopes);
        self.settings.scopes.as_ref().map_or_else(|| famous.to_owned(), |scopes| scopes.join(" "))
    }

    /// Apple documents no PKCE; its ID tokens are bound to the sign-in by their nonce.
    pub(super) fn has_pkce(&self) -> bool {
        self.famous != Some(Famous::Apple)
    }

    /// Apple returns by a form as soon as it is asked for a name or an address.
    pub(super) fn returns_by_form(&self) -> bool {
        self.famous == Some(Famous::Apple)
    }

    pub(super) async fn endpoints(&self, app: &App) -> Result<Endpoints> {
        let issuer = match self.issuer() {
            Some(issuer) => Some(published::discover(app, issuer).await?),
            None => None,
        };
        let famous = self.famous.and_then(Famous::addresses);
        let find = |own: &Option<String>, name: &str, place: usize| {
            if let Some(own) = own {
                return Ok(own.clone());
            }
            match (&issuer, famous) {
                (Some(issuer), _) => issuer.url(name).map(ToOwned::to_owned),
                (None, Some(addresses)) => Ok(addresses[place].to_owned()),
                (None, None) => Err(Error::internal(format!("{} has no {name}", self.name))),
            }
        };
        let settings = &self.settings;
        Ok(Endpoints {
            authorize: find(&settings.authorize_url, "authorization_endpoint", 0)?,
            token: find(&settings.token_url, "token_endpoint", 1)?,
            token_auth: settings.token_auth.unwrap_or_else(|| self.usual_auth(issuer.as_ref())),
            issuer,
        })
    }

    /// The specification's default, unless the issuer does not support it. The famous ones take a form.
    fn usual_auth(&self, issuer: Option<&Issuer>) -> TokenAuth {
        let list = "token_endpoint_auth_methods_supported";
        let basic = issuer.and_then(|issuer| issuer.supports(list, "client_secret_basic"));
        if self.famous.is_some() || basic == Some(false) {
            TokenAuth::Post
        } else {
            TokenAuth::Basic
        }
    }

    pub(super) fn user_url(&self) -> Result<String> {
        let famous = self.famous.and_then(Famous::addresses).map(|[_, _, user]| user.to_owned());
        let own = self.settings.user_url.clone();
        own.or(famous).ok_or_else(|| Error::internal(format!("{} has no profile", self.name)))
    }

    /// Where GitHub lists the addresses of a user.
    pub(super) fn emails_url(&self) -> String {
        self.settings.emails_url.clone().unwrap_or_else(|| GITHUB_EMAILS.to_owned())
    }

    /// What authenticates the client; none for a public client, which has PKCE alone.
    pub(super) fn client_secret(
        &self,
        app: &App,
        project: ProjectId,
        now: Timestamp,
    ) -> Result<Option<String>> {
        let Some(sealed) = &self.secret else { return Ok(None) };
        let secret = app.sealer.open(sealed, &place(project, &self.name))?;
        let (Some(team), Some(key)) = (&self.settings.team_id, &self.settings.key_id) else {
            return Ok(Some(secret));
        };
        let claims = serde_json::json!({
            "iss": team,
            "iat": now.seconds(),
            "exp": now.seconds() + APPLE_SECRET_SECONDS,
            "aud": self.issuer(),
            "sub": self.settings.client_id,
        });
        let signed = es256::sign(&secret, Some(key), &claims);
        signed.map(Some).ok_or_else(|| Error::internal("the private key is no P-256 key"))
    }
}

/// What the secret of a provider is sealed for.
pub(super) fn place(project: ProjectId, provider: &str) -> String {
    format!("OAuth provider {provider} of project {project}")
}
