//! From rows to reports with their reporters and targets: a constant number of statements, however many
//! reports.

use std::collections::{BTreeMap, HashMap};

use db::Conn;
use uuid::Uuid;

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::chat;
use crate::features::chat::messages::store as messages;
use crate::features::chat::model::ChatMessage;
use crate::features::comments::store as comments;
use crate::features::entities::store as entities;
use crate::features::moderation::reports::model::{Report, Target, TargetType, UserReport};
use crate::features::moderation::reports::store::{self, ReportRow};
use crate::features::spaces::show::View as SpaceView;
use crate::features::users::reputation::Bucket;
use crate::features::{comments as comment, entities as entity};
use crate::http::operation::Call;
use crate::storage::signed::Links;
use crate::values::ids::{ChatMessageId, CommentId, EntityId, ProjectId, ReportId, SpaceId};

/// How the targets are shown: with their authors, nothing hidden.
#[derive(Debug, Clone)]
pub struct View {
    project: ProjectId,
    entities: entity::show::View,
    comments: comment::show::View,
    links: Links,
    bucket: Option<Bucket>,
    spaces: SpaceView,
}

impl View {
    pub fn new<A>(call: &Call<A>, bucket: Option<Bucket>) -> Self {
        View {
            project: call.project.id,
            entities: entity::show::View::written(call, None).with_points(bucket),
            comments: comment::show::View::written(call, Perspective::Key, None)
                .with_points(bucket)
                .with_deleted(),
            links: call.links(),
            bucket,
            spaces: SpaceView::new(call, None),
        }
    }

    pub fn reports(&self, c: &Conn<'_>, rows: Vec<ReportRow>) -> Result<Vec<Report>> {
        let ids: Vec<ReportId> = rows.iter().map(|row| row.id).collect();
        let mut entries: HashMap<ReportId, Vec<UserReport>> = HashMap::new();
        for entry in store::entries(c, self.project, &ids)? {
            entries.entry(entry.report_id).or_default().push(entry.into());
        }
        let mut targets = self.targets(c, &rows)?;
        let mut ids: Vec<SpaceId> = rows.iter().filter_map(|row| row.space_id).collect();
        ids.sort_unstable();
        ids.dedup();
        let spaces = self.spaces.page(c, &ids)?;
        let show = |row: ReportRow| {
            let mut report = Report::new(self.project, row);
            report.user_reports = entries.remove(&report.id).unwrap_or_default();
            let of_target = targets.get_mut(&report.target_id);
            report.target = of_target.and_then(Vec::pop);
            let space = spaces.iter().find(|space| Some(space.id) == report.space_id);
            report.space = space.cloned().map(Box::new);
            report
        };
        Ok(rows.into_iter().map(show).collect())
    }

    /// One copy for each report about it.
    fn targets(&self, c: &Conn<'_>, rows: &[ReportRow]) -> Result<HashMap<Uuid, Vec<Target>>> {
        let of_type = |kind: TargetType| {
            let of_type = rows.iter().filter(move |row| row.target_type == kind);
            of_type.map(|row| row.target_id)
        };
        let entity_ids: Vec<EntityId> = of_type(TargetType::Entity).map(EntityId).collect();
        let comment_ids: Vec<CommentId> = of_type(TargetType::Comment).map(CommentId).collect();
        let found = entities::find_all_ever(c, self.project, &entity_ids)?;
        let row_of = |id: &EntityId| found.iter().find(|row| row.id == *id).cloned();
        let shown = self.entities.entities(c, entity_ids.iter().filter_map(row_of).collect())?;
        let mut targets: HashMap<Uuid, Vec<Target>> = HashMap::new();
        for entity in shown {
            targets.entry(entity.id.0).or_default().push(Target::Entity(Box::new(entity)));
        }
        let found = comments::find_all_ever(c, self.project, &comment_ids)?;
        let row_of = |id: &CommentId| found.iter().find(|row| row.id == *id).cloned();
        let shown = self.comments.comments(c, comment_ids.iter().filter_map(row_of).collect())?;
        for comment in shown {
            targets.entry(comment.id.0).or_default().push(Target::Comment(Box::new(comment)));
        }
        for message in self.messages(c, rows)? {
            targets.entry(message.id.0).or_default().push(Target::Message(Box::new(message)));
        }
        Ok(targets)
    }

    /// Points may be those of a message's space; then the messages of each space are shown separately.
    fn messages(&self, c: &Conn<'_>, rows: &[ReportRow]) -> Result<Vec<ChatMessage>> {
        let mut by_space: BTreeMap<Option<SpaceId>, Vec<ChatMessageId>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.target_type == TargetType::Message) {
            let space = row.space_id.filter(|_| self.bucket.is_some());
            by_space.entry(space).or_default().push(ChatMessageId(row.target_id));
        }
        let mut shown = Vec::new();
        for (space, ids) in by_space {
            let (links, points) = (self.links.clone(), self.bucket.map(|bucket| (bucket, space)));
            let view = chat::show::View { points, ..chat::show::View::written(links, None) };
            let found = messages::find_all(c, self.project, &ids)?;
            let row_of = |id: &ChatMessageId| found.iter().find(|row| row.id == *id).cloned();
            shown.extend(view.messages(c, ids.iter().filter_map(row_of).collect())?);
        }
        Ok(shown)
    }
}
