import ArgumentParser
import Bus
package import ServiceKit
import Timing
import Workouts

/// The limits of a session.
package struct StreamBounds: Sendable {
    /// Items of a session.
    package var session = StreamLimits.session
    /// Items that a session accepts in an hour.
    package var hour = StreamLimits.hour
    /// Items that an account may store in a day.
    package var day = StreamLimits.day
    /// Above this number of items, folds and summaries of a session are jobs.
    package var manyItems = 10_000

    package init() {}

    var hourly: TokenBucket<Moment> { TokenBucket(burst: Double(hour), perSecond: Double(hour) / 3_600) }
}

/// The service's own flags.
package struct StreamOptions: ParsableArguments {
    @Option(name: .customLong(Setting.itemsPerDay.flag), help: Setting.itemsPerDay.help)
    var itemsPerDay: String?

    package init() {}

    /// - Throws: `SettingError` for what is not accepted.
    package func bounds(environment: [String: String]) throws(SettingError) -> StreamBounds {
        var bounds = StreamBounds()
        bounds.day = try Self.day(itemsPerDay, environment: environment)
        return bounds
    }

    static func day(_ flag: String?, environment: [String: String]) throws(SettingError) -> Int {
        try DailyQuota.limit(.itemsPerDay, flag, environment: environment, minimum: minimum)
    }
}

/// Whole batches fit into an unused day.
private let minimum = 1_000

extension Setting {
    package static let itemsPerDay = Setting(
        flag: "items-per-day", explanation: "The items that this service stores for an account in a day of UTC",
        accepted: "a number of at least \(minimum)", standard: "\(StreamBounds().day)")
}
