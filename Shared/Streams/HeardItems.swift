import Workouts

/// What `heard` reports of a session's stored items: the same for every order of the items.
struct HeardItems<Item: StreamItem>: Sendable {
    private(set) var times = ItemTimes()
    private(set) var hasHeartRate = false
    /// The newest position that counts, and its time.
    private var newest: (at: Timestamp, position: Coordinate)?

    init() {}

    /// - Parameter pass: calls its argument with each stored item.
    init(_ pass: (_ body: (Item) -> Void) -> Void) {
        pass { addItem($0) }
    }

    var position: Coordinate? { newest?.position }

    @specialized(where Item == Sample)
    @specialized(where Item == Location)
    mutating func addItems(_ items: [Item]) {
        for item in items { addItem(item) }
    }

    private mutating func addItem(_ item: Item) {
        guard let time = item.time else { return }
        times.add(time)
        if !hasHeartRate, item.hasHeartRate { hasHeartRate = true }
        guard time >= newest?.at ?? time, let position = item.position else { return }
        newest = (time, position)
    }
}
