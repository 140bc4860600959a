import Bus
import Workouts

/// A service on the web that knows the weather.
protocol WeatherProvider: Sendable {
    /// What the setting calls it.
    static var name: String { get }
    /// Where it is, without a slash at the end.
    static var url: String { get }
    /// What its terms allow.
    static var budget: RequestBudget { get }

    /// The path and query for the weather in a cell.
    func path(_ cell: WeatherCell) -> String

    /// What is sent along, by name.
    func headers(now: Timestamp) async throws -> [String: String]

    /// Reads the body of an answer.
    ///
    /// - Throws: `PayloadError` when it says nothing that can be used.
    func read(_ body: [UInt8]) throws(PayloadError) -> ProviderAnswer
}

/// What stands in the body of an answer.
struct ProviderAnswer: Equatable {
    var observation: Observation
    /// Until when there will be nothing newer.
    var expiresAt: Timestamp?
}
