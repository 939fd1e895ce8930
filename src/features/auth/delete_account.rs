//! Request Account Deletion, Confirm Account Deletion: users delete their own account with a code sent by
//! mail.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::{NO_USER_FOUND, Viewer};
use crate::auth::keys::hash;
use crate::domain_events::Context;
use crate::error::{Error, Result};
use crate::features::auth::mails::DeletionCode;
use crate::features::auth::{INVALID_OR_EXPIRED_CODE, NO_EMAIL_ON_FILE, store};
use crate::features::deletion::user::erase;
use crate::features::users::{self, store as user_store};
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Done;
use crate::http::reply::{Json, NoContent};
use crate::mail_quota;

const MAX_WRONG_TRIES: i64 = 5;

pub(super) async fn request_account_deletion(call: Call<Viewer>, (): ()) -> Result<Json<Done>> {
    let (project, user) = (call.project.id, call.caller.user);
    let row = call.app.db.read(move |c| user_store::find(c, project, user)).await?;
    let email = row.ok_or(NO_USER_FOUND)?.email.ok_or(NO_EMAIL_ON_FILE)?;
    let job = DeletionCode { user };
    mail_quota::enqueue(&call.app, project, &email, job, call.now).await?;
    Ok(Json(Done::SILENT))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "AccountDeletionCode")]
pub(super) struct Confirmation {
    code: String,
}

pub(super) async fn confirm_account_deletion(
    call: Call<Viewer>,
    Body(body): Body<Confirmation>,
) -> Result<NoContent> {
    let (app, of, user, now) = (call.app.clone(), call.project.clone(), call.caller.user, call.now);
    let project = of.id;
    let code = hash(&body.code);
    // Not an error inside the transaction: a wrong code must be counted.
    let confirmed = call.app.db.write(move |tx| {
        let Some(pending) = store::find_deletion(tx, project, user, now)? else {
            return Ok::<_, Error>(false);
        };
        if verify_slices_are_equal(&pending.code_hash, &code).is_ok() {
            let context = Context { app: &app, project: &of, now };
            if !erase(tx, context, user)? {
                return Err(users::NOT_FOUND.into());
            }
            return Ok(true);
        }
        if pending.wrong_tries + 1 >= MAX_WRONG_TRIES {
            store::delete_deletion(tx, project, user)?;
        } else {
            store::count_wrong_code(tx, project, user)?;
        }
        Ok(false)
    });
    if confirmed.await? { Ok(NoContent) } else { Err(INVALID_OR_EXPIRED_CODE.into()) }
}
