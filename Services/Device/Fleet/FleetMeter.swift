import Client
import Foundation
import ServiceKit

/// Counts items and acknowledgements of a fleet between two progress lines.
struct FleetMeter {
    private var since: Moment
    private var items = 0
    private var acknowledgements = 0
    /// The longest time from sending a batch that asks for an acknowledgement to receiving it, in seconds.
    private var lag = 0.0
    /// Messages with the other runners of virtual runs.
    private var partnersCount = 0

    init(_ now: Moment) {
        since = now
    }

    mutating func acknowledged(_ items: Int, after lag: Double) {
        self.items += items
        acknowledgements += 1
        self.lag = max(self.lag, lag)
    }

    mutating func partners() {
        partnersCount += 1
    }

    func text(_ now: Moment) -> String {
        let seconds = max(now.seconds(since: since), 0.001)
        return "\(Int(Double(items) / seconds)) items/s, \(Int(Double(acknowledgements) / seconds)) acks/s, "
            + "lag \(Int(lag * 1_000)) ms"
            + (partnersCount == 0 ? "" : ", \(Int(Double(partnersCount) / seconds)) partners/s")
    }

    mutating func restart(_ now: Moment) {
        self = FleetMeter(now)
    }
}
