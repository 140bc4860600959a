import Bus
import Workouts

/// What `heard` reports of a session's stored items: the same for every order of the items.
struct HeardItems<Item: StreamItem>: Sendable where Item.Field: PayloadField {
    private(set) var times = ItemTimes()
    /// The newest position and its time.
    private var newest: (at: Timestamp, position: Coordinate)?

    init() {}

    /// - Parameter pass: calls its argument with each stored item.
    init(_ pass: (_ body: (Item) -> Void) -> Void) {
        pass { add(CollectionOfOne($0)) }
    }

    var position: Coordinate? { newest?.position }

    mutating func add(_ items: some Sequence<Item>) {
        for item in items {
            guard let time = item.time else { continue }
            times.add(time)
            Self.note(item, time, &newest)
        }
    }

    private static func note(_ item: Item, _ time: Timestamp, _ newest: inout (at: Timestamp, position: Coordinate)?) {
        guard let fields = Item.Field.position, time >= newest?.at ?? time, let latitude = item[fields.latitude],
            let longitude = item[fields.longitude]
        else { return }
        newest = (time, Coordinate(latitude: latitude, longitude: longitude))
    }
}
