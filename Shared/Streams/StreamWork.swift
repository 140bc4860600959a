package import Bus
package import Workouts

/// The part of a stream owner that differs by service. All owners share the rest: they accept each item once, store it,
/// acknowledge it, publish results and evict sessions.
package protocol StreamWork: Sendable {
    associatedtype Item: StreamItem where Item.Field: PayloadField
    associatedtype Live: LiveFold where Live.Item == Item
    /// The content of the summary besides its revisions.
    associatedtype Totals: Codable & Equatable & Sendable

    /// The executable's name.
    static var service: String { get }
    /// The prefix of its Prometheus metrics.
    static var metricsPrefix: String { get }
    static var kind: StreamName.Kind { get }
    /// The topics of other services whose content the results take in, besides `state`.
    static var inputs: [SessionTopic.Kind] { get }

    /// The final results of a session: a pure function of all its items, its state and its inputs.
    static func finish(_ streams: [Device: ItemSource<Item>], of state: SessionState, with inputs: StreamInputs) -> (
        totals: Totals, rows: FinalRows
    )
}

/// A running fold over the items of a session.
package protocol LiveFold: Sendable {
    associatedtype Item: StreamItem
    /// The payload of the live route.
    associatedtype Companion: Sendable

    /// Whether the fold equals a summary of the same items. If not, a fold over all items replaces it.
    var isExact: Bool { get }
    /// The time of the newest item.
    var newest: Timestamp? { get }
    /// The number of completed splits, and the last of them, if this service announces splits.
    var splitCount: Int { get }
    var split: LiveStretch? { get }

    /// An ended lap of a session, if this service announces laps.
    func lap(_ number: Int, of state: SessionState) -> LiveStretch?

    /// The fold over no items.
    init(_ state: ProfiledState)

    /// The fold over all items of a session.
    ///
    /// - Parameters:
    ///   - streams: all items of each device, sorted by number.
    ///   - shown: the previous fold.
    init(streams: [Device: ItemSource<Item>], state: ProfiledState, now: Timestamp, shown: Self?)

    /// Continues what an earlier fold displayed.
    mutating func continueDisplay(of shown: Self)

    /// Whether a new state or profile requires another fold over all items.
    static func isOther(_ state: ProfiledState, than known: ProfiledState) -> Bool

    /// Continues with the laps of a newer state. Returns `false` if only a fold over all items knows their values.
    mutating func follow(_ state: SessionState) -> Bool

    /// Adds consecutive items of a device.
    mutating func addItems(_ items: [Item], from device: Device, segments: [Segment], now: Timestamp)

    /// Decodes a payload of the live route.
    static func read(_ payload: ArraySlice<UInt8>) throws(PayloadError) -> Companion

    /// Receives a payload of the live route. Returns whether the published payload changes.
    mutating func receive(_ companion: Companion, of state: SessionState, now: Timestamp) -> Bool

    /// The published payload as of the newest item.
    ///
    /// - Parameters:
    ///   - count: the number of stored items.
    ///   - isSilent: no item for 15 s, so that every live value is unknown.
    func payload(_ state: SessionState, revision: Int64, count: Int, isSilent: Bool) -> [UInt8]
}
