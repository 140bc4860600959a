package import Bus
package import Workouts

/// The text of virtual runs.
extension Text {
    /// `ben 29 m ahead, 9 s`; also `ben finished`, `ben level`, `ben 12 m behind, 4 s, paused`.
    package static func partner(_ row: Partners.Row) -> String {
        let name = name(row.runner)
        guard row.link != .finished else { return "\(name) finished" }
        return [gap(row).map { "\(name) \($0)" } ?? name, link(row)].compactMap(\.self).joined(separator: ", ")
    }

    /// `29 m ahead, 9 s`; `nil` while it is unknown.
    package static func gap(_ row: Partners.Row) -> String? {
        guard let meters = row.gapMeters else { return nil }
        guard abs(meters) >= 0.5 else { return "level" }
        let time = row.gapSeconds.map { ", \(Int($0.magnitude.rounded())) s" } ?? ""
        return "\(distance(meters.magnitude)) \(meters > 0 ? "ahead" : "behind")\(time)"
    }

    /// What is special about a partner's data: `paused`, `no data for 12 s`.
    package static func link(_ row: Partners.Row) -> String? {
        switch row.link {
        case .connected, .finished: nil
        case .paused: "paused"
        case .stale, .disconnected: row.age.map { "no data for \(duration($0))" } ?? "no data"
        }
    }

    /// `ben`, or `ghost 2`.
    package static func name(_ runner: Runner) -> String {
        switch runner {
        case .participant(let user): name(user, nil)
        case .ghost(let number): name(nil, number)
        }
    }
}
