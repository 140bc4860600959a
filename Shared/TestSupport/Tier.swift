import Foundation

/// The tiers of `compose/test`.
package enum Tier {
    /// Whether `compose/test --nightly` runs: it sets `NIGHTLY=1`.
    package static let isNightly = ProcessInfo.processInfo.environment["NIGHTLY"] == "1"

    /// The number of runs of a random test.
    package static func runs(_ byDay: Int, nightly: Int) -> Int { isNightly ? nightly : byDay }
}
