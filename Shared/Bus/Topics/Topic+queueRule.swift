package import MQTT

extension Topic {
    /// Who publishes on a topic, for the fair queue of a service. It also classifies names that are no topics of the bus:
    /// people may publish on some of those, such as a command below a session that is no UUID.
    package static func queueRule(_ name: String) -> QueueRule {
        let levels = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        // `pacebus/v1/{shard}/{user}/…` and `pacebus/v1/u/{user}/…`.
        guard levels.count > 4, name.hasPrefix("\(root)/"), levels[2] != services else {
            return QueueRule(owner: "", kind: .service)
        }
        let kind =
            levels[2] == users
            ? UserTopic.Kind.match(levels[4...])?.0.queueKind : SessionTopic.Kind.match(levels[5...])?.0.queueKind
        return QueueRule(owner: levels[3], kind: kind ?? .request)
    }
}

extension SessionTopic.Kind {
    fileprivate var queueKind: QueueRule.Kind {
        switch self {
        case .samples, .locations: .items
        case .command, .activityRegister, .request, .exportResult: .request
        case .state, .samplesAck, .locationsAck, .metrics, .route, .weather, .announcements, .activity, .summaryMetrics,
            .summaryRoute, .series, .track, .workout, .export:
            .service
        }
    }
}

extension UserTopic.Kind {
    fileprivate var queueKind: QueueRule.Kind {
        switch self {
        case .request, .virtualRunRequest: .request
        case .current, .profile, .plans, .replies, .coachRequest, .coachReply, .virtualRun, .partner,
            .virtualRunAnnouncements:
            .service
        }
    }
}
