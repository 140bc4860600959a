/// What a user changed of a finished workout. An absent field is as recorded.
package struct WorkoutEdit: Codable, Hashable, Sendable {
    package var name: String?
    package var activity: Activity?
    package var environment: Environment?
    /// For the user alone.
    package var note: String?
    /// The perceived exertion, 1 to 10. For the user alone.
    package var exertion: Int?
    /// The start and the end of the part that counts.
    package var trimStart: Timestamp?
    package var trimEnd: Timestamp?
    /// Kilograms and beats per minute, for this workout.
    package var weight: Double?
    package var maximumHeartRate: Double?

    package init() {}

    /// The part that decides the totals.
    package var ofTotals: WorkoutEdit {
        var edit = self
        (edit.name, edit.note, edit.exertion) = (nil, nil, nil)
        return edit
    }

    /// Whether the workout is no longer what a device recorded, as in the results of a virtual run.
    package var isOfRecording: Bool { activity != nil || environment != nil || trimStart != nil || trimEnd != nil }

    /// Overrides the profile of the session.
    package func applied(to profile: Profile?) -> Profile? {
        guard weight != nil || maximumHeartRate != nil else { return profile }
        var profile = profile ?? Profile()
        profile.weight = weight ?? profile.weight
        profile.maximumHeartRate = maximumHeartRate ?? profile.maximumHeartRate
        return profile
    }
}

/// A change of one field by an `edit`.
package enum FieldEdit<Value: Equatable & Sendable>: Equatable, Sendable {
    case keep
    /// The field is as recorded again.
    case undo
    case set(Value)

    package func map<Other>(_ transform: (Value) -> Other) -> FieldEdit<Other> {
        switch self {
        case .keep: .keep
        case .undo: .undo
        case .set(let value): .set(transform(value))
        }
    }

    fileprivate func apply(to field: inout Value?) {
        switch self {
        case .keep: break
        case .undo: field = nil
        case .set(let value): field = value
        }
    }
}

/// The fields of the request `edit`.
package struct SessionEdit: Equatable, Sendable {
    /// Characters and bytes of a note, at most.
    package static let noteLimit = 4_000
    package static let noteBytes = 16_000
    package static let exertions = 1...10

    package var name = FieldEdit<String>.keep
    package var activity = FieldEdit<Activity>.keep
    package var environment = FieldEdit<Environment>.keep
    package var note = FieldEdit<String>.keep
    package var exertion = FieldEdit<Int>.keep
    package var trimStart = FieldEdit<Timestamp>.keep
    package var trimEnd = FieldEdit<Timestamp>.keep
    package var weight = FieldEdit<Double>.keep
    package var maximumHeartRate = FieldEdit<Double>.keep

    package init() {}

    package var isEmpty: Bool { self == SessionEdit() }

    package func applied(to edit: WorkoutEdit) -> WorkoutEdit {
        var edit = edit
        name.apply(to: &edit.name)
        activity.apply(to: &edit.activity)
        environment.apply(to: &edit.environment)
        note.apply(to: &edit.note)
        exertion.apply(to: &edit.exertion)
        trimStart.apply(to: &edit.trimStart)
        trimEnd.apply(to: &edit.trimEnd)
        weight.apply(to: &edit.weight)
        maximumHeartRate.apply(to: &edit.maximumHeartRate)
        return edit
    }
}

/// What a workout was before its edits.
package struct RecordedWorkout: Codable, Hashable, Sendable {
    package let name: String
    package let activity: Activity
    package let environment: Environment
    package let startedAt: Timestamp?
    package let endedAt: Timestamp?
}

extension Session {
    /// Applies a user's edit to a completed session. It is no use of the session: it may come years later. Name, activity and environment change in place; the recorded ones stay
    /// for an undo. Trims cut ``segments``, which are computed from the recorded ones.
    package mutating func apply(_ change: SessionEdit) throws(Refusal) {
        switch status {
        case .completed: break
        case .deleted: throw .sessionNotFound
        case .unfinished, .saving, .canceled:
            throw .invalidState("edit is not possible while the session is \(statusName.rawValue); allowed: completed")
        }
        let recorded = recordedWorkout
        let next = change.applied(to: edit ?? WorkoutEdit())
        try checkTrims(next, recorded)
        activity = next.activity ?? recorded.activity
        environment = next.environment ?? recorded.environment
        name = next.name ?? recorded.name
        if next.name == nil, recorded.name == recorded.activity.defaultName(recorded.environment) {
            name = activity.defaultName(environment)
        }
        guard edit != nil || next != WorkoutEdit() else { return }
        // It stays after an undo, so that readers of the old one receive an empty one.
        edit = next
        original = recorded
    }

    /// The workout without its edits.
    package var recordedWorkout: RecordedWorkout {
        RecordedWorkout(
            name: original?.name ?? name, activity: original?.activity ?? activity,
            environment: original?.environment ?? environment, startedAt: recordedStart, endedAt: recordedEnd)
    }

    /// The profile with which the totals are computed.
    package var editedProfile: Profile? { edit.map { $0.applied(to: profile) } ?? profile }

    private func checkTrims(_ edit: WorkoutEdit, _ recorded: RecordedWorkout) throws(Refusal) {
        guard edit.trimStart != nil || edit.trimEnd != nil else { return }
        guard let start = recorded.startedAt, let end = recorded.endedAt else {
            throw .invalidCommand("trimStart: the workout was never active; nothing can be trimmed")
        }
        for (field, time) in [("trimStart", edit.trimStart), ("trimEnd", edit.trimEnd)] {
            guard let time, !(start...max(start, end)).contains(time) else { continue }
            throw .invalidCommand(
                "\(field): \(time.seconds) is outside of the workout; allowed: \(start.seconds) to \(end.seconds)")
        }
        if let from = edit.trimStart, let to = edit.trimEnd, from >= to {
            throw .invalidCommand("trimEnd: \(to.seconds) is not after trimStart, \(from.seconds)")
        }
        guard trimmedSegments(by: edit) != nil else {
            throw .invalidCommand(
                "\(edit.trimStart == nil ? "trimEnd" : "trimStart"): no active time of the workout would be left")
        }
    }

    /// The segments within the trims; `nil` without trims, or if late items left no active time between them.
    func trimmedSegments(by edit: WorkoutEdit?) -> [Segment]? {
        guard let edit, edit.trimStart != nil || edit.trimEnd != nil else { return nil }
        let kept = recordedSegments.compactMap { segment -> Segment? in
            guard let end = segment.end else { return nil }
            let from = max(segment.start, edit.trimStart ?? segment.start)
            let to = min(end, edit.trimEnd ?? end)
            return from < to ? Segment(start: from, end: to) : nil
        }
        return kept.isEmpty ? nil : kept
    }
}
