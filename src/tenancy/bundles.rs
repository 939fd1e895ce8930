//! Bundles: the feature areas that a project has switched on.

/// `core` is not listed: every project has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bundle {
    Entities,
    Comments,
    Reactions,
    FilesImages,
    Follows,
    Connections,
    Spaces,
    Workspaces,
    Events,
    Chat,
    Collections,
    Moderation,
    Notifications,
    Push,
    AiSearch,
    InterestMatching,
    Reputation,
}

impl Bundle {
    pub const ALL: [Bundle; 17] = [
        Bundle::Entities,
        Bundle::Comments,
        Bundle::Reactions,
        Bundle::FilesImages,
        Bundle::Follows,
        Bundle::Connections,
        Bundle::Spaces,
        Bundle::Workspaces,
        Bundle::Events,
        Bundle::Chat,
        Bundle::Collections,
        Bundle::Moderation,
        Bundle::Notifications,
        Bundle::Push,
        Bundle::AiSearch,
        Bundle::InterestMatching,
        Bundle::Reputation,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Bundle::Entities => "entities",
            Bundle::Comments => "comments",
            Bundle::Reactions => "reactions",
            Bundle::FilesImages => "files-images",
            Bundle::Follows => "follows",
            Bundle::Connections => "connections",
            Bundle::Spaces => "spaces",
            Bundle::Workspaces => "workspaces",
            Bundle::Events => "events",
            Bundle::Chat => "chat",
            Bundle::Collections => "collections",
            Bundle::Moderation => "moderation",
            Bundle::Notifications => "notifications",
            Bundle::Push => "push",
            Bundle::AiSearch => "ai-search",
            Bundle::InterestMatching => "interest-matching",
            Bundle::Reputation => "reputation",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Bundle::ALL.into_iter().find(|bundle| bundle.name() == name)
    }

    /// The bundle that must be installed before this one.
    pub const fn needs(self) -> Option<Bundle> {
        match self {
            Bundle::Comments | Bundle::Collections => Some(Bundle::Entities),
            Bundle::InterestMatching => Some(Bundle::AiSearch),
            _ => None,
        }
    }

    /// The tables named in the error for a missing bundle.
    pub const fn tables(self) -> &'static [&'static str] {
        match self {
            Bundle::Entities => &["Entities"],
            Bundle::Comments => &["Comments"],
            Bundle::Reactions => &["Reactions"],
            Bundle::FilesImages => &["Files", "Images"],
            Bundle::Follows => &["Follows"],
            Bundle::Connections => &["Connections"],
            Bundle::Spaces => &["Spaces"],
            Bundle::Workspaces => &["Workspaces"],
            Bundle::Events => &["Events"],
            Bundle::Chat => &["Conversations"],
            Bundle::Collections => &["Collections", "CollectionEntities"],
            Bundle::Moderation => &["Reports", "Suspensions"],
            Bundle::Notifications => &["AppNotifications"],
            Bundle::Push => &["PushProviderConfigs", "PushDevices", "NotificationPreferences"],
            Bundle::AiSearch => &["Embeddings"],
            Bundle::InterestMatching => &["UserInterestFacets"],
            Bundle::Reputation => &["ReputationBuckets", "ReputationGrants"],
        }
    }
}

/// The first installed bundle whose prerequisite is not installed, with that prerequisite.
pub fn missing_prerequisite(installed: &[Bundle]) -> Option<(Bundle, Bundle)> {
    installed.iter().find_map(|bundle| {
        bundle.needs().filter(|needed| !installed.contains(needed)).map(|needed| (*bundle, needed))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for bundle in Bundle::ALL {
            assert_eq!(Bundle::from_name(bundle.name()), Some(bundle));
        }
        assert_eq!(Bundle::from_name("core"), None);
    }

    #[test]
    fn prerequisites_are_required() {
        assert_eq!(missing_prerequisite(&Bundle::ALL), None);
        let lonely = [Bundle::Comments];
        assert_eq!(missing_prerequisite(&lonely), Some((Bundle::Comments, Bundle::Entities)));
    }
}
