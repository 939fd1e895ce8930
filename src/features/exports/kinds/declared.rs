//! The list of all documents. A field is a column with a mark for what it holds (see [`super::Type`]); what stands behind
//! `|` is in the second table.

/// A type of documents: its name, its table (perhaps another with bodies), the primary key without the project, the
/// columns that name the user whose document it is, and the fields.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) name: &'static str,
    pub(super) tables: &'static str,
    pub(super) key: &'static str,
    pub(super) owners: &'static str,
    pub(super) fields: &'static str,
}

const fn kind(
    name: &'static str,
    tables: &'static str,
    key: &'static str,
    owners: &'static str,
    fields: &'static str,
) -> Declared {
    Declared { name, tables, key, owners, fields }
}

/// In an order in which each refers to earlier ones only.
pub(super) const DECLARED: &[Declared] = &[
    kind(
        "user",
        "users",
        "id",
        "id",
        "id# foreign_id role name username email password_hash is_verified? is_active? avatar avatar_file_id#
         banner_file_id# bio birthdate@ latitude~ longitude~ metadata{ secure_metadata{ reputation% last_active@
         created_at@ updated_at@ avatar_path",
    ),
    kind(
        "identity",
        "identities",
        "id",
        "user_id",
        "id# user_id#users provider provider_account_id email name avatar is_verified? created_at@ updated_at@",
    ),
    kind(
        "suspension",
        "suspensions",
        "id",
        "user_id",
        "id# user_id#users reason start_date@ end_date@ created_by created_at@ updated_at@",
    ),
    kind(
        "notificationPreference",
        "notification_preferences",
        "user_id",
        "user_id",
        "user_id#users disabled_types{ updated_at@",
    ),
    kind(
        "mailPreference",
        "mail_preferences",
        "user_id",
        "user_id",
        "user_id#users frequency timezone quiet_from% quiet_until% language updated_at@",
    ),
    kind(
        "pushDevice",
        "push_devices",
        "user_id key_hash",
        "user_id",
        "user_id#users key_hash* id# platform device_key p256dh auth created_at@ updated_at@",
    ),
    kind(
        "space",
        "spaces",
        "id",
        "user_id",
        "id# slug name name_key description user_id#users avatar_file_id# banner_file_id# reading_permission
         posting_permission visibility is_open? nsfw? nsfw_effective? requires_approval? parent_id#spaces depth%
         metadata{ members_count% children_count% created_at@ updated_at@ deleted_at@ is_log_public?",
    ),
    kind(
        "spaceMember",
        "space_members",
        "space_id user_id",
        "user_id",
        "space_id#spaces user_id#users id# role rank% status joined_at@ created_at@",
    ),
    kind(
        "spaceBan",
        "space_bans",
        "space_id user_id",
        "user_id",
        "space_id#spaces user_id#users id# banned_by_id# reason report_id# created_at@ updated_at@",
    ),
    kind(
        "spaceRule",
        "space_rules",
        "id",
        "",
        "id# space_id#spaces title description position% approved_by_id# created_at@ updated_at@",
    ),
    kind(
        "entity",
        "entities entity_bodies",
        "id",
        "user_id",
        "id# foreign_id source_id space_id#spaces user_id#users is_draft? is_listed? is_wide? nsfw? upvote_count%
         downvote_count% like_count% love_count% wow_count% sad_count% angry_count% funny_count% controversy~
         replies_count% shares_count% views% score~ score_updated_at@ latitude~ longitude~ has_attachments?
         moderation_status moderated_at@ moderated_by_id# moderated_by_type moderation_reason created_at@ updated_at@
         deleted_at@ comments_count% top_comments_count% is_emptied?
         | title content mentions{ attachments{ keywords{ metadata{",
    ),
    kind(
        "comment",
        "comments comment_bodies",
        "id",
        "user_id",
        "id# foreign_id entity_id#entities space_id#spaces user_id#users parent_id#comments thread_id# referenced_id#
         upvote_count% downvote_count% like_count% love_count% wow_count% sad_count% angry_count% funny_count%
         balance% controversy~ replies_count% answers_count% moderation_status moderated_at@ moderated_by_id#
         moderated_by_type moderation_reason created_at@ updated_at@ parent_deleted_at@ user_deleted_at@ deleted_at@
         | content gif{ mentions{ attachments{ metadata{",
    ),
    kind(
        "reaction",
        "reactions",
        "target_id user_id",
        "user_id",
        "target_id# user_id#users id# target_type reaction_type previous_type created_at@ updated_at@",
    ),
    kind(
        "reactionMilestone",
        "reaction_milestones",
        "target_id kind threshold",
        "",
        "target_id# kind threshold%",
    ),
    kind(
        "collection",
        "collections",
        "id",
        "user_id",
        "id# user_id#users parent_id#collections is_root? name depth% entity_count% created_at@ updated_at@",
    ),
    kind(
        "collectionEntity",
        "collection_entities",
        "collection_id entity_id",
        "user_id",
        "collection_id#collections entity_id#entities id# user_id#users created_at@",
    ),
    kind(
        "follow",
        "follows",
        "id",
        "follower_id followed_id",
        "id# follower_id#users followed_id#users created_at@",
    ),
    kind(
        "connection",
        "connections",
        "id",
        "low_id high_id",
        "id# low_id#users high_id#users requester_id#users status message responded_at@ created_at@",
    ),
    kind(
        "block",
        "blocks",
        "blocker_id blocked_id",
        "blocker_id",
        "blocker_id#users blocked_id#users id# created_at@",
    ),
    kind(
        "conversation",
        "conversations",
        "id",
        "created_by_id",
        "id# kind name description space_id#spaces created_by_id#users avatar_file_id# posting_permission metadata{
         first_id# second_id# member_count% has_visible? last_message_at@ last_created_at@ created_at@ updated_at@
         deleted_at@",
    ),
    kind(
        "conversationMember",
        "conversation_members",
        "conversation_id user_id",
        "user_id",
        "conversation_id#conversations user_id#users id# role last_read_at@ muted_until@ muted_forever? is_active?
         left_at@ created_at@ updated_at@",
    ),
    kind(
        "message",
        "chat_messages",
        "id",
        "user_id",
        "id# conversation_id#conversations user_id#users content gif{ mentions{ metadata{ parent_message_id#
         quoted_message_id# has_files? thread_reply_count% reaction_counts{ is_removed? edited_at@ user_deleted_at@
         moderation_status moderated_at@ moderated_by_id# moderated_by_type moderation_reason created_at@ updated_at@",
    ),
    kind(
        "messageReaction",
        "chat_reactions",
        "message_id user_id emoji",
        "user_id",
        "message_id#chat_messages user_id#users emoji created_at@",
    ),
    kind(
        "report",
        "reports",
        "id",
        "",
        "id# space_id# target_type target_id# status reporter_count% action_taken handled_at@ handled_by_id#
         handled_by_type created_at@ updated_at@ author_id# decision_id# rule_id# is_held? matches{ claimed_by#
         claimed_by_name claimed_until@",
    ),
    kind(
        "reportEntry",
        "report_entries",
        "report_id user_id",
        "user_id",
        "report_id#reports user_id#users id# reason details created_at@",
    ),
    kind(
        "moderationDecision",
        "moderation_decisions",
        "id",
        "author_id",
        "id# report_id# target_type target_id# author_id# space_id# action ends_at@ reason rule_id# operator_id#
         decided_by decided_at@ apply_at@ state error appeal_id# is_strike?",
    ),
    kind(
        "moderationAppeal",
        "moderation_appeals",
        "id",
        "user_id",
        "id# decision_id# user_id#users text state outcome_id# answer created_at@ decided_at@ claimed_by#
         claimed_by_name claimed_until@ decider_id#",
    ),
    kind(
        "spaceLogEntry",
        "space_log",
        "id",
        "",
        "id# space_id#spaces action target_type target_id# decided_by reason created_at@",
    ),
    kind(
        "moderationNote",
        "moderation_notes",
        "id",
        "",
        "id# user_id#users text operator_id# written_by created_at@",
    ),
    kind(
        "notification",
        "notifications",
        "user_id id",
        "user_id",
        "user_id#users id# type action is_read? metadata{ created_at@ updated_at@ subject_id# target_id# actor_id#
         space_id# is_hidden?",
    ),
    kind(
        "reputationBucket",
        "reputation_buckets",
        "user_id space_id",
        "user_id",
        "user_id#users space_id# points%",
    ),
    kind(
        "reputationGrant",
        "reputation_grants",
        "id",
        "sender_id recipient_id",
        "id# source_type sender_id#users recipient_id#users amount% space_id# target_type target_id# conversation_id#
         note metadata{ created_at@",
    ),
    kind(
        "workspace",
        "workspaces",
        "id",
        "owner_id",
        "id# name metadata{ owner_id# parent_id#workspaces root_id# depth% inherits_from_parent? created_at@
         updated_at@",
    ),
    kind(
        "workspaceMember",
        "workspace_members",
        "workspace_id user_id",
        "user_id",
        "workspace_id#workspaces user_id#users id# capabilities{ permissions{ rank% title metadata{ joined_at@
         created_at@",
    ),
    kind(
        "workspaceInvitation",
        "workspace_invitations",
        "id",
        "invited_by user_id",
        "id# workspace_id#workspaces invited_by# user_id#users email capabilities{ permissions{ rank% title status
         expires_at@ created_at@ updated_at@",
    ),
    kind(
        "event",
        "events event_bodies",
        "id",
        "user_id",
        "id# user_id#users title start_time@ end_time@ length_class% timezone type url venue_name address latitude~
         longitude~ space_id#spaces visibility status allow_maybe? guest_list_visible? capacity% cover_image_id#
         going_count% maybe_count% not_going_count% invite_count% revision% created_at@ updated_at@ deleted_at@
         | description metadata{",
    ),
    kind("eventHost", "event_hosts", "event_id user_id", "user_id", "event_id#events user_id# position%"),
    kind(
        "eventInvite",
        "event_invites",
        "event_id user_id",
        "user_id",
        "event_id#events user_id#users id# invited_at@",
    ),
    kind(
        "eventRsvp",
        "event_rsvps",
        "event_id user_id",
        "user_id",
        "event_id#events user_id#users id# status created_at@ updated_at@",
    ),
    kind(
        "file",
        "files",
        "id",
        "user_id",
        "id# user_id# entity_id# comment_id# chat_message_id# space_id# event_id# path size% mime position%
         metadata{ image{ created_at@ updated_at@ sha256",
    ),
];

/// Only of a user: sessions end with the installation.
pub(super) const SESSION: Declared = kind(
    "session",
    "refresh_tokens",
    "id",
    "user_id",
    "id# user_id# family_id# successor_id# revoked_at@ expires_at@ created_at@ updated_at@",
);

/// Fields that the user whose document it is does not get: secrets, and what an application keeps from its users.
pub(super) const SECRET: &[(&str, &[&str])] = &[
    ("user", &["password_hash", "secure_metadata"]),
    ("pushDevice", &["key_hash", "auth", "p256dh"]),
    ("session", &["id", "successor_id"]),
    ("moderationDecision", &["report_id", "operator_id", "decided_by", "error"]),
    ("moderationAppeal", &["claimed_by", "claimed_by_name", "claimed_until", "decider_id"]),
];
