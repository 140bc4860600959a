import ServiceKit
import Workouts

/// A request for a cell's weather.
struct WeatherRequest: Equatable, Sendable {
    let cell: WeatherCell
    /// The `Last-Modified` of the known answer.
    var validator: String?
}

/// The answer to a request.
struct WeatherAnswer: Equatable, Sendable {
    enum Outcome: Equatable, Sendable {
        case observed(Observation, Caching)
        /// The known answer is still valid.
        case unchanged(Caching)
        case failed(WeatherFetchFailure)
    }

    let cell: WeatherCell
    let outcome: Outcome
    var took = Duration.zero
}

/// How long the provider allows an answer to be cached.
struct Caching: Equatable, Sendable {
    var expiresAt: Timestamp?
    var validator: String?
}

/// Why a request failed.
enum WeatherFetchFailure: Error, Hashable, Sendable {
    /// No response, or an incomplete one. Retried with backoff.
    case unreachable(String)
    /// An invalid response. Retried with backoff.
    case unreadable(String)
    /// Too many requests, or an error of the provider. Retried with backoff, not before the time that the provider
    /// names.
    case overloaded(status: Int, RetryAfter?)
    /// The key is wrong, or the terms of service forbid the request. Retried after an hour.
    case refused(status: Int)
    /// The provider has no weather for this place. Other places are still requested.
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

extension WeatherFetchFailure: CustomStringConvertible {
    var description: String {
        switch self {
        case .unreachable(let reason), .unreadable(let reason): reason
        case .overloaded(let status, _), .refused(let status), .unavailable(let status): "HTTP status \(status)"
        }
    }
}
