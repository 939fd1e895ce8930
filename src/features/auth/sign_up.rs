//! Sign Up: a new user with a password, and their first session.

use db::{JsonText, Tx};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::auth::caller::AnyoneOrKey;
use crate::domain_events;
use crate::error::Result;
use crate::features::auth::events::{NAMES, Outcome};
use crate::features::auth::session::{self, SignedIn, TokenSeed};
use crate::features::auth::store::TokenRow;
use crate::features::auth::{INVALID_BODY, PICTURES};
use crate::features::users::model::AuthUser;
use crate::features::users::pictures::{Pictures, Portrayed};
use crate::features::users::rules::{
    Avatar, Bio, Email, Location, Metadata, Name, Password, Username,
};
use crate::features::users::store::{self, UserRow};
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Created;
use crate::values::ids::{UserId, new_id};
use crate::values::time::Timestamp;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewUser {
    email: Email,
    password: Password,
    name: Option<Name>,
    username: Option<Username>,
    avatar: Option<Avatar>,
    bio: Option<Bio>,
    location: Option<Location>,
    birthdate: Option<Timestamp>,
    metadata: Option<Metadata>,
    /// With a key only; ignored without one.
    #[schemars(with = "Option<Metadata>")]
    secure_metadata: Option<Value>,
}

pub(super) async fn sign_up(
    call: Call<AnyoneOrKey>,
    (Body(new), pictures): (Body<NewUser>, Pictures),
) -> Result<Created<SignedIn>> {
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let json = |metadata: Option<Metadata>| JsonText(metadata.unwrap_or_default().to_json());
    let secure_metadata = new.secure_metadata.filter(|_| call.caller.is_key);
    let secure_metadata = Metadata::secure(secure_metadata, INVALID_BODY)?;
    let mut user = UserRow {
        email: Some(new.email.into_text()),
        password_hash: Some(app.passwords.hash(new.password.into_text()).await?),
        name: new.name.map(Name::into_text),
        username: new.username.map(Username::into_text),
        avatar: new.avatar.map(Avatar::into_text),
        bio: new.bio.and_then(Bio::into_option),
        latitude: new.location.map(|place| place.latitude),
        longitude: new.location.map(|place| place.longitude),
        birthdate: new.birthdate,
        metadata: json(new.metadata),
        secure_metadata: json(secure_metadata),
        ..UserRow::new(UserId(new_id(now, &app.random)), now)
    };
    let seed = TokenSeed::draw(&app.tokens, &app.random, now);
    let of = Portrayed::User(user.id);
    let pictures = pictures.prepare(&app, project.id, of, &PICTURES, now).await?;
    pictures.put_on(&mut user);
    let (links, stored) = (call.links(), pictures.clone());
    let work = move |tx: &Tx<'_>| {
        store::insert(tx, project.id, &user)?;
        stored.insert(tx, project.id)?;
        session::start(tx, &project, &links, &mut user.clone(), seed)
    };
    let event = |(_, user): &(TokenRow, AuthUser)| Outcome::Created.event(user);
    let created = domain_events::write(&app, &call.project, &NAMES, work, event).await;
    let (token, user) = pictures.settle(&app, call.project.id, created, now).await?;
    Ok(Created(SignedIn::new(&app.tokens, call.project.id, &token, user, now)))
}
