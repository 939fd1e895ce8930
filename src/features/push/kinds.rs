//! The types of events that push messages are about, and how each is worded unless a project says otherwise.

use crate::values::names::names;

names! {
    #[schemars(rename = "NotificationEventType")]
    EventType {
        EntityComment "entity-comment",
        CommentReply "comment-reply",
        EntityMention "entity-mention",
        CommentMention "comment-mention",
        EntityReaction "entity-reaction",
        CommentReaction "comment-reaction",
        EntityReactionMilestoneSpecific "entity-reaction-milestone-specific",
        EntityReactionMilestoneTotal "entity-reaction-milestone-total",
        CommentReactionMilestoneSpecific "comment-reaction-milestone-specific",
        CommentReactionMilestoneTotal "comment-reaction-milestone-total",
        NewFollow "new-follow",
        ConnectionRequest "connection-request",
        ConnectionAccepted "connection-accepted",
        SpaceMembershipApproved "space-membership-approved",
        EventInvite "event-invite",
        EventUpdated "event-updated",
        EventCancelled "event-cancelled",
        ReputationGrant "reputation-grant",
        Message "message",
        EntityUpvote "entity-upvote",
        CommentUpvote "comment-upvote",
    }
}

impl EventType {
    /// None for a type that is never pushed, such as `system`.
    pub fn from_name(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }

    /// Title and body. A name in braces stands for a key of the notification's metadata.
    pub const fn wording(self) -> (&'static str, &'static str) {
        use EventType as E;
        match self {
            E::EntityComment => ("{initiatorName} commented on your post", "{commentContent}"),
            E::CommentReply => ("{initiatorName} replied to your comment", "{replyContent}"),
            E::EntityMention => ("{initiatorName} mentioned you in a post", "{entityTitle}"),
            E::CommentMention => ("{initiatorName} mentioned you in a comment", "{commentContent}"),
            E::EntityReaction => ("{initiatorName} reacted to your post", "{entityTitle}"),
            E::CommentReaction => ("{initiatorName} reacted to your comment", "{commentContent}"),
            E::EntityReactionMilestoneSpecific => {
                ("Your post has {milestoneCount} reactions of one kind", "{entityTitle}")
            }
            E::EntityReactionMilestoneTotal => {
                ("Your post has {milestoneCount} reactions", "{entityTitle}")
            }
            E::CommentReactionMilestoneSpecific => {
                ("Your comment has {milestoneCount} reactions of one kind", "{commentContent}")
            }
            E::CommentReactionMilestoneTotal => {
                ("Your comment has {milestoneCount} reactions", "{commentContent}")
            }
            E::NewFollow => ("{initiatorName} follows you", ""),
            E::ConnectionRequest => ("{initiatorName} wants to connect with you", ""),
            E::ConnectionAccepted => ("{initiatorName} accepted your request", ""),
            E::SpaceMembershipApproved => ("You are a member of {spaceName}", ""),
            E::EventInvite => ("{initiatorName} invited you", "{eventTitle}"),
            E::EventUpdated => ("An event has changed", "{eventTitle}"),
            E::EventCancelled => ("An event is cancelled", "{eventTitle}"),
            E::ReputationGrant => ("{granterName} gave you {amount} points", "{note}"),
            E::Message => ("{initiatorName}", "{messageContent}"),
            E::EntityUpvote => ("{initiatorName} upvoted your post", "{entityTitle}"),
            E::CommentUpvote => ("{initiatorName} upvoted your comment", "{commentContent}"),
        }
    }
}
