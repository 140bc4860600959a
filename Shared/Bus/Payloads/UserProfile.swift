package import Workouts

/// A profile with its revision, on `u/{user}/profile`.
package struct UserProfile: Codable, Equatable, Sendable {
    package var revision: Int64
    package var profile: Profile
    /// When the user deleted everything; data from before then are void. Absent in the copy of a session.
    package var erasedAt: Timestamp?
    /// In the copy of a session: what the user changed of the finished workout, and what it was before. Viewers read
    /// neither this topic nor these fields elsewhere.
    package var edit: WorkoutEdit?
    package var recorded: RecordedWorkout?

    package init(revision: Int64, profile: Profile, erasedAt: Timestamp? = nil) {
        self.revision = revision
        self.profile = profile
        self.erasedAt = erasedAt
    }

    private enum Key: String, CodingKey {
        case revision, erasedAt, edit, recorded
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        revision = try container.decode(Int64.self, forKey: .revision)
        erasedAt = try container.number(Timestamp.self, forKey: .erasedAt)
        edit = try container.decodeIfPresent(WorkoutEdit.self, forKey: .edit)
        recorded = try container.decodeIfPresent(RecordedWorkout.self, forKey: .recorded)
        profile = try Profile(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        try profile.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(revision, forKey: .revision)
        try container.encodeIfPresent(erasedAt, forKey: .erasedAt)
        try container.encodeIfPresent(edit, forKey: .edit)
        try container.encodeIfPresent(recorded, forKey: .recorded)
    }
}

/// The user's profile at the start of a session with the changes of its owner, on `{session}/profile`. `state` names its revision.
package typealias SessionProfile = UserProfile

extension SessionProfile {
    /// Decodes a payload of `{session}/profile`. A profile that no user can have is rejected like invalid JSON.
    package init(_ payload: some Sequence<UInt8>) throws(PayloadError) {
        self = try JSONCoding.decode(SessionProfile.self, from: payload)
        guard SeenRevision.range.contains(revision) else { throw .malformed("revision: out of range") }
        let year = profile.birthYear ?? 2000
        guard (1...9999).contains(year) else { throw .malformed("birthYear: out of range") }
        // The year of birth was validated against the year in which the profile was set.
        if let error = profile.validationError(year: year) { throw .malformed(error) }
    }
}
