//! Verify External User: somebody that the project trusts vouches for a user with a signed token: its own
//! backend, with the project's private key, or an outside issuer, with a key that it publishes. The user is
//! created here on first use.

use db::{JsonText, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::auth::caller::Anyone;
use crate::auth::credential::PROJECT_MISMATCH;
use crate::auth::{claims, rs256};
use crate::domain_events;
use crate::error::Result;
use crate::features::auth::events::{NAMES, Outcome};
use crate::features::auth::session::{self, SignedIn, TokenSeed};
use crate::features::auth::store::TokenRow;
use crate::features::auth::take_over::take_over;
use crate::features::auth::{INVALID_BODY, INVALID_TOKEN, MISSING_KEYS};
use crate::features::identities::issuers;
use crate::features::identities::store::{self as identities, Account};
use crate::features::users::events::changed as changed_fields;
use crate::features::users::model::AuthUser;
use crate::features::users::rules::{
    Avatar, Bio, Email, ForeignId, Location, Metadata, Name, Username,
};
use crate::features::users::store::{self as users, UserRow};
use crate::features::users::{DUPLICATE_EMAIL, DUPLICATE_USER_FIELD, DUPLICATE_USERNAME};
use crate::features::workspaces::invites::bind_to_new_user;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::realtime;
use crate::state::App;
use crate::storage::signed::Links;
use crate::tenancy::Project;
use crate::values::ids::{IdentityId, UserId, new_id};
use crate::values::time::Timestamp;

const PROVIDER: &str = "external";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExternalSignIn")]
pub(super) struct External {
    user_jwt: String,
}

/// The backend's claims about its user. Absent or null fields change nothing.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct UserData {
    email: Option<Email>,
    name: Option<Name>,
    #[serde(deserialize_with = "username_if_any")]
    username: Option<Username>,
    avatar: Option<Avatar>,
    bio: Option<Bio>,
    location: Option<Location>,
    birthdate: Option<Timestamp>,
    metadata: Option<Metadata>,
    secure_metadata: Option<Metadata>,
}

fn username_if_any<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Username>, D::Error> {
    let given = Option::<String>::deserialize(from)?;
    given.map_or(Ok(None), Username::if_any).map_err(serde::de::Error::custom)
}

pub(super) async fn verify_external_user(
    call: Call<Anyone>,
    Body(body): Body<External>,
) -> Result<Json<SignedIn>> {
    let (app, now) = (&call.app, call.now);
    let vouched = Vouched::read(app, &body.user_jwt, &call.project, now).await?;
    let ids = (UserId(new_id(now, &app.random)), IdentityId(new_id(now, &app.random)));
    let sign_in = SignIn { vouched, ids, seed: TokenSeed::draw(&app.tokens, &app.random, now) };

    let (project, links, first) = (call.project.clone(), call.links(), sign_in.clone());
    let mut signed_in = write(&call, move |tx| first.run(tx, &project, &links)).await;
    // Two concurrent sign-ins of the same person: the second finds what the first created.
    let is_duplicate = |fault| matches!(&signed_in, Err(error) if error.is(fault));
    if [DUPLICATE_USER_FIELD, DUPLICATE_EMAIL, DUPLICATE_USERNAME].into_iter().any(is_duplicate) {
        let (project, links) = (call.project.clone(), call.links());
        signed_in = write(&call, move |tx| sign_in.run(tx, &project, &links)).await;
    }
    let (token, user, _) = signed_in?;
    Ok(Json(SignedIn::new(&app.tokens, call.project.id, &token, user, now)))
}

type Done = (TokenRow, AuthUser, Outcome);

async fn write(
    call: &Call<Anyone>,
    work: impl Fn(&Tx<'_>) -> Result<Done> + Send + Sync + 'static,
) -> Result<Done> {
    let event = |(_, user, outcome): &Done| outcome.event(user);
    domain_events::write(&call.app, &call.project, &NAMES, work, event).await
}

/// A verified token: the user's identity and claims.
#[derive(Debug, Clone)]
struct Vouched {
    sub: String,
    /// The outside issuer, if it is one. Its users are other people than those of the project's own backend,
    /// and each may know only its own.
    issuer: Option<String>,
    data: UserData,
}

impl Vouched {
    async fn read(app: &App, jwt: &str, project: &Project, now: Timestamp) -> Result<Self> {
        let Some(issuer) = issuers::named_by(app, project.id, jwt).await? else {
            return Self::by_project(jwt, project, now);
        };
        let vouched = issuer.verify(app, jwt, now).await?.ok_or(INVALID_TOKEN)?;
        let issuers::Vouched { issuer, sub, mut user, has_verified_email } = vouched;
        if !has_verified_email {
            user.remove("email");
        }
        let data = read_data(Value::Object(user), "claims")?;
        Ok(Vouched { sub: read_sub(&sub)?, issuer: Some(issuer), data })
    }

    fn by_project(jwt: &str, project: &Project, now: Timestamp) -> Result<Self> {
        let keys = || project.public_key.iter().chain(&project.previous_public_key);
        if keys().next().is_none() {
            return Err(MISSING_KEYS.into());
        }
        let mut claims = rs256::verify(jwt, keys().map(String::as_str)).ok_or(INVALID_TOKEN)?;
        if !claims::is_in_time(&claims, now, 0.0) {
            return Err(INVALID_TOKEN.into());
        }
        if claims["iss"].as_str().and_then(|iss| iss.parse().ok()) != Some(project.id) {
            return Err(PROJECT_MISMATCH.into());
        }
        let sub = read_sub(&claims["sub"])?;
        let data = match claims["userData"].take() {
            Value::Null => UserData::default(),
            data if data.to_string().contains("\\u0000") => {
                return Err(INVALID_BODY.because("userData must not contain the NUL character"));
            }
            data @ Value::Object(_) => read_data(data, "userData")?,
            _ => return Err(INVALID_BODY.because("userData must be an object")),
        };
        Ok(Vouched { sub, issuer: None, data })
    }

    /// The account's id among all external ones.
    fn account(&self) -> String {
        let sub = &self.sub;
        self.issuer.as_ref().map_or_else(|| sub.clone(), |issuer| format!("{issuer} {sub}"))
    }
}

fn read_sub(claim: &Value) -> Result<String> {
    let sub = match claim {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    let sub = ForeignId::try_from(sub).map(ForeignId::into_text);
    let sub = sub.ok().filter(|sub| !sub.contains('\0'));
    sub.ok_or_else(|| INVALID_BODY.because("sub must be the id of the user"))
}

fn read_data(data: Value, name: &str) -> Result<UserData> {
    serde_json::from_value(data).map_err(|error| INVALID_BODY.because(format!("{name}: {error}")))
}

#[derive(Debug, Clone)]
struct SignIn {
    vouched: Vouched,
    /// Ids for a user and an identity that may have to be created.
    ids: (UserId, IdentityId),
    seed: TokenSeed,
}

impl SignIn {
    fn run(&self, tx: &Tx<'_>, project: &Project, links: &Links) -> Result<Done> {
        let (now, account) = (self.seed.issued, self.vouched.account());
        let is_known = identities::find_user(tx, project.id, PROVIDER, &account)?;
        let mut found = match is_known {
            Some(id) => users::find_for_update(tx, project.id, id)?,
            None => self.find(tx, project)?,
        };
        let is_taken_over = is_known.is_none() && self.takes_over(found.as_ref());
        if let Some(user) = found.as_ref().map(|user| user.id).filter(|_| is_taken_over) {
            take_over(tx, project.id, user, now)?;
            found = users::find_for_update(tx, project.id, user)?;
        }
        let (mut user, outcome) = match found {
            Some(found) => {
                let user = self.update(tx, project, found.clone())?;
                let changed = changed_fields(&found, &user);
                (user, Outcome::Found(changed))
            }
            None => (self.create(tx, project)?, Outcome::Created),
        };
        if is_known.is_none() {
            let account =
                Account { provider: PROVIDER.to_owned(), id: account, ..Account::default() };
            identities::insert(tx, project.id, self.ids.1, user.id, &account, now)?;
        }
        let (token, shown) = session::start(tx, project, links, &mut user, self.seed)?;
        if is_taken_over {
            realtime::end_other_sessions(tx, project.id, user.id, Some(token.family_id))?;
        }
        Ok((token, shown, outcome))
    }

    /// By foreign id, then by email address. An outside issuer cannot take over users of
    /// another issuer by choosing their ids.
    fn find(&self, tx: &Tx<'_>, project: &Project) -> Result<Option<UserRow>> {
        let mut found = users::find_by_foreign_id(tx, project.id, &self.vouched.sub)?;
        if let Some(user) = found.as_ref().filter(|_| self.vouched.issuer.is_some()) {
            let providers = users::providers(tx, project.id, user.id)?;
            if providers.iter().any(|provider| provider == PROVIDER) {
                found = None;
            }
        }
        if let (None, Some(email)) = (&found, &self.vouched.data.email) {
            found = users::find_by_email(tx, project.id, email.as_str())?;
        }
        found.map_or(Ok(None), |user| users::find_for_update(tx, project.id, user.id))
    }

    /// Whether the user was found by an address that only the issuer has verified. The project's own backend
    /// is trusted to know what it does.
    fn takes_over(&self, found: Option<&UserRow>) -> bool {
        let is_same = |user: &&UserRow| user.foreign_id.as_ref() == Some(&self.vouched.sub);
        self.vouched.issuer.is_some()
            && found.is_some_and(|user| !user.is_verified && !is_same(&user))
    }

    fn create(&self, tx: &Tx<'_>, project: &Project) -> Result<UserRow> {
        let mut user = UserRow::new(self.ids.0, self.seed.issued);
        user.foreign_id = self.free_foreign_id(tx, project)?;
        user.is_verified = self.vouched.issuer.is_some() && self.vouched.data.email.is_some();
        self.vouched.data.clone().write_to(&mut user);
        users::insert(tx, project.id, &user)?;
        bind_to_new_user(tx, project.id, &user)?;
        Ok(user)
    }

    fn update(&self, tx: &Tx<'_>, project: &Project, found: UserRow) -> Result<UserRow> {
        let mut user = found.clone();
        if user.foreign_id.is_none() {
            user.foreign_id = self.free_foreign_id(tx, project)?;
        }
        self.vouched.data.clone().write_to(&mut user);
        if user != found {
            user.updated_at = self.seed.issued;
            users::update_profile(tx, project.id, &user)?;
        }
        Ok(user)
    }

    /// The id that the user gets: none if an outside issuer calls somebody by the id of another user.
    fn free_foreign_id(&self, tx: &Tx<'_>, project: &Project) -> Result<Option<String>> {
        let sub = self.vouched.sub.clone();
        let is_outside = self.vouched.issuer.is_some();
        let is_taken = is_outside && users::find_by_foreign_id(tx, project.id, &sub)?.is_some();
        Ok((!is_taken).then_some(sub))
    }
}

impl UserData {
    fn write_to(self, user: &mut UserRow) {
        put(&mut user.email, self.email.map(Email::into_text));
        put(&mut user.name, self.name.map(Name::into_text));
        put(&mut user.username, self.username.map(Username::into_text));
        if self.avatar.is_some() {
            user.avatar_path = None;
        }
        put(&mut user.avatar, self.avatar.map(Avatar::into_text));
        put(&mut user.bio, self.bio.and_then(Bio::into_option));
        put(&mut user.latitude, self.location.map(|place| place.latitude));
        put(&mut user.longitude, self.location.map(|place| place.longitude));
        put(&mut user.birthdate, self.birthdate);
        put_json(&mut user.metadata, self.metadata);
        put_json(&mut user.secure_metadata, self.secure_metadata);
    }
}

/// Compared as JSON, not as text: an engine may store the same object with another spelling.
fn put_json(field: &mut JsonText, value: Option<Metadata>) {
    let Some(value) = value else { return };
    if serde_json::from_str::<Metadata>(&field.0).ok().as_ref() != Some(&value) {
        *field = JsonText(value.to_json());
    }
}

fn put<T>(field: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *field = value;
    }
}
