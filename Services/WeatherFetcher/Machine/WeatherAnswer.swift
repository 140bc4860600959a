import ServiceKit
import Workouts

/// A question for the provider: the weather in a cell, or whether it has changed.
struct WeatherRequest: Equatable, Sendable {
    let cell: WeatherCell
    /// The `Last-Modified` of the answer that is there.
    var validator: String?
}

/// What came of a request.
struct WeatherAnswer: Equatable, Sendable {
    enum Outcome: Equatable, Sendable {
        case observed(Observation, Caching)
        /// The provider's answer is still the one that is there.
        case unchanged(Caching)
        case failed(FetchFailure)
    }

    let cell: WeatherCell
    let outcome: Outcome
    var took = Duration.zero
}

/// How long the provider lets an answer stand, as far as it says so.
struct Caching: Equatable, Sendable {
    var expiresAt: Timestamp?
    var validator: String?
}

/// Why there was no weather, by what is done about it.
enum FetchFailure: Error, Hashable, Sendable {
    /// No answer, or half of one: the provider is left alone for a while.
    case unreachable(String)
    /// An answer that makes no sense: likewise.
    case unreadable(String)
    /// Too many requests, or an error of the provider: likewise, and as long as it says.
    case overloaded(status: Int, RetryAfter?)
    /// It wants nothing to do with us: a wrong key, or its terms. Left alone for long.
    case refused(status: Int)
    /// No weather for this place: others are asked for.
    case unavailable(status: Int)

    /// A failure without its details; also the label of a counter.
    enum Kind: String, CaseIterable, Sendable {
        case unreachable, unreadable, overloaded, refused, unavailable
    }

    var kind: Kind {
        switch self {
        case .unreachable: .unreachable
        case .unreadable: .unreadable
        case .overloaded: .overloaded
        case .refused: .refused
        case .unavailable: .unavailable
        }
    }
}

extension FetchFailure: CustomStringConvertible {
    var description: String {
        switch self {
        case .unreachable(let reason), .unreadable(let reason): reason
        case .overloaded(let status, _), .refused(let status), .unavailable(let status): "HTTP status \(status)"
        }
    }
}
