package import Workouts

/// A user's profile with its revision, on `profile`.
package struct UserProfile: Codable, Equatable, Sendable {
    package var revision: Int64
    package var profile: Profile

    package init(revision: Int64, profile: Profile) {
        self.revision = revision
        self.profile = profile
    }

    private enum Key: String, CodingKey {
        case revision
    }

    package init(from decoder: any Decoder) throws {
        revision = try decoder.container(keyedBy: Key.self).decode(Int64.self, forKey: .revision)
        profile = try Profile(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        try profile.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(revision, forKey: .revision)
    }
}
