//! Get and Update Mail Preferences: how a user wants notifications by mail. Which types is in the notification
//! preferences, as for pushes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Actor;
use crate::error::{Error, Result};
use crate::features::notification_mails::rules::{LanguageTag, QuietHours};
use crate::features::notification_mails::store::{self, Frequency, PreferenceRow};
use crate::features::notification_mails::{INVALID_BODY, schedule};
use crate::features::users;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::timezone::{Hour, ZoneName};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MailPreferences {
    frequency: Frequency,
    timezone: Option<ZoneName>,
    quiet_hours: Option<QuietHours>,
    language: Option<LanguageTag>,
}

impl From<PreferenceRow> for MailPreferences {
    fn from(row: PreferenceRow) -> Self {
        let hour = |hour: Option<i64>| Hour::try_from(hour?).ok();
        let quiet_hours = match (hour(row.quiet_from), hour(row.quiet_until)) {
            (Some(from), Some(until)) => Some(QuietHours { from, until }),
            _ => None,
        };
        MailPreferences {
            frequency: row.frequency,
            timezone: row.timezone.and_then(|name| ZoneName::try_from(name).ok()),
            quiet_hours,
            language: row.language.and_then(|tag| LanguageTag::try_from(tag).ok()),
        }
    }
}

impl From<&MailPreferences> for PreferenceRow {
    fn from(new: &MailPreferences) -> Self {
        PreferenceRow {
            frequency: new.frequency,
            timezone: new.timezone.as_ref().map(|zone| zone.as_str().to_owned()),
            quiet_from: new.quiet_hours.map(|hours| hours.from.number()),
            quiet_until: new.quiet_hours.map(|hours| hours.until.number()),
            language: new.language.as_ref().map(|tag| tag.as_str().to_owned()),
        }
    }
}

pub(super) async fn get_preferences(call: Call<Actor>, (): ()) -> Result<Json<MailPreferences>> {
    let (project, user) = (call.project.id, call.caller.user);
    let found = call.app.db.read(move |c| store::find(c, project, user)).await?;
    Ok(Json(found.into()))
}

/// A mail that is scheduled comes when the new preferences say.
pub(super) async fn update_preferences(
    call: Call<Actor>,
    Body(new): Body<MailPreferences>,
) -> Result<Json<MailPreferences>> {
    if new.quiet_hours.is_some_and(|hours| hours.from == hours.until) {
        return Err(INVALID_BODY.because("quietHours: from and until must differ"));
    }
    let (project, user, now) = (call.project.id, call.caller.user, call.now);
    let row = PreferenceRow::from(&new);
    let written = call.app.db.write(move |tx| {
        store::replace(tx, project, user, &row, now)?;
        store::reschedule(tx, project, user, schedule::due(&row, now))
    });
    // A user may be deleted meanwhile.
    written.await.map_err(|error: Error| error.on_foreign_key(users::NOT_FOUND))?;
    Ok(Json(new))
}
