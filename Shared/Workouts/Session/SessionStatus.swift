/// The published statuses of a session.
package enum SessionStatus: String, Codable, CaseIterable, Sendable {
    case preparing, active, paused, suspended, saving, completed, canceled, deleted

    /// Whether the session has neither ended nor been canceled.
    package var isUnfinished: Bool {
        switch self {
        case .preparing, .active, .paused, .suspended: true
        case .saving, .completed, .canceled, .deleted: false
        }
    }

    /// Whether the session has begun and can be ended or resumed.
    package var isUnderWay: Bool { isUnfinished && self != .preparing }

    /// Whether the clock is stopped, and `resume` starts it again.
    package var isStopped: Bool { self == .paused || self == .suspended }

    /// Whether the session has an end and a summary; the summary of a session in `saving` is pending.
    package var isEnded: Bool { self == .saving || self == .completed }

    /// Whether nothing more of the session is pending. Only a late event, `recover` or a deletion changes it.
    package var isSettled: Bool { !isUnfinished && self != .saving }
}

extension SessionAction {
    /// The kinds of commands. Raw values are the command types of the bus.
    package enum Kind: String, CaseIterable, Sendable {
        case start, deviceReady, pause, resume, lap, suspend, end, discard, recover, update
        case completeSet, uncompleteSet, skipExercise, flagPain, swapExercise, adjustDifficulty, goTo,
            setPresentationMode

        /// The statuses that allow the command on an existing session.
        package var statuses: [SessionStatus] {
            switch self {
            case .start: []
            case .deviceReady, .discard: [.preparing, .active, .paused, .suspended]
            case .pause, .lap: [.active]
            case .suspend: [.active, .paused]
            case .resume: [.paused, .suspended]
            case .end: [.active, .paused, .suspended, .saving, .completed]
            case .recover: [.canceled]
            case .update: [.preparing, .active, .paused, .suspended, .saving, .completed]
            case .completeSet, .uncompleteSet, .skipExercise, .flagPain, .swapExercise, .adjustDifficulty, .goTo,
                .setPresentationMode:
                [.active, .paused, .suspended]
            }
        }

        /// Whether the command changes a plan.
        package var isOfPlan: Bool {
            switch self {
            case .start, .deviceReady, .pause, .resume, .lap, .suspend, .end, .discard, .recover, .update: false
            case .completeSet, .uncompleteSet, .skipExercise, .flagPain, .swapExercise, .adjustDifficulty, .goTo,
                .setPresentationMode:
                true
            }
        }
    }
}

extension Session {
    /// The commands that change the session now: those of its status, of its plan and below its limits. An `end` after
    /// the first is accepted too, and adds the streams of another device.
    ///
    /// The engine can refuse an allowed command for its fields, such as an unknown item of the plan, and after thousands of
    /// commands.
    package var allowed: [SessionAction.Kind] {
        let status = statusName
        return SessionAction.Kind.allCases.filter { kind in
            guard kind.statuses.contains(status) else { return false }
            return switch kind {
            case .lap: laps.count < lapLimit
            case .pause, .suspend: status == .paused || closedSegments.count < segmentLimit
            case .end: status.isUnfinished
            default: !kind.isOfPlan || planned != nil
            }
        }
    }
}
