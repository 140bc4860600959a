import Bus
import ServiceKit
import Timing
import Workouts

/// A web service that returns current weather.
protocol WeatherProvider: Sendable {
    /// The provider's name in the settings.
    static var name: String { get }
    /// The base URL, without a trailing slash.
    static var url: String { get }
    /// The request rate its terms of service allow.
    static var budget: TokenBucket<Moment> { get }

    /// The path and query for a cell's current weather.
    func path(_ cell: WeatherCell) -> String

    /// Additional request headers, by name.
    func headers(now: Timestamp) async throws -> [String: String]

    /// Decodes a response body.
    ///
    /// - Throws: `PayloadError` if the body has no usable observation.
    func read(_ body: [UInt8]) throws(PayloadError) -> ProviderAnswer
}

/// The content of a response body.
struct ProviderAnswer: Equatable {
    var observation: Observation
    /// The time at which the provider publishes a newer observation.
    var expiresAt: Timestamp?
}
