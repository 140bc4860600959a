package import Workouts

/// A field of an item in batches, and as a column in the chunks of a finished session.
package protocol PayloadField: StreamField {
    /// Its key, one or two lower-case letters; `c` is the time's.
    var key: String { get }

    /// All fields by their keys.
    static var table: FieldTable<Self> { get }

    /// The field with the metres since the previous item, if items have one.
    static var distance: Self? { get }
}

/// Finds a field and its properties by its key of one or two lower-case letters.
package struct FieldTable<Field: PayloadField>: Sendable {
    private static var none: UInt8 { .max }
    /// The raw values, by the key's letters as digits of base 32.
    private var places = [UInt8](repeating: none, count: 1_024)
    private let fields = Field.allCases
    private let ranges = Field.ranges
    private let lists = Field.lists

    /// - Precondition: each key has one or two lower-case letters, no two are equal and none is `c`.
    init() {
        for field in Field.allCases {
            let key = field.key
            precondition((1...2).contains(key.utf8.count) && key.utf8.allSatisfy(Self.isLetter) && key != "c", key)
            let digits = key.utf8.reduce(0) { $0 << 5 | Int($1 & 31) }
            precondition(places[digits] == Self.none, "two fields have the key \(key)")
            places[digits] = UInt8(field.rawValue)
        }
    }

    func field(_ key: Slice<UnsafeBufferPointer<UInt8>>) -> Field? {
        guard key.count == 1 || key.count == 2, Self.isLetter(key[key.startIndex]) else { return nil }
        var digits = Int(key[key.startIndex] & 31)
        if key.count == 2 {
            let second = key[key.startIndex + 1]
            guard Self.isLetter(second) else { return nil }
            digits = digits << 5 | Int(second & 31)
        }
        let place = places[digits]
        return place == Self.none ? nil : fields[Int(place)]
    }

    func range(_ field: Field) -> ClosedRange<Double> { ranges[field.rawValue] }

    func isList(_ field: Field) -> Bool { lists >> UInt64(field.rawValue) & 1 != 0 }

    private static func isLetter(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "a") < 26 }
}

/// The limits of a stream.
package enum StreamLimits {
    /// Items of one batch.
    package static let batch = 1_000
    /// The range of item numbers.
    package static let items = 100_000_000
    /// Items of one kind in a session: a sample a second for 23 days.
    package static let session = 2_000_000
    /// Items of one kind that a session accepts in an hour of the service's clock.
    package static let hour = 250_000
    /// Items of one kind that a service stores for an account in a day, unless its operator sets another number.
    package static let day = 40_000_000
    /// The speed that metres since the previous item may imply, in metres per second.
    package static let speed = 60.0
}

/// A batch on `samples/{device}`.
package typealias SampleBatch = ItemBatch<Sample>

extension Quantity: PayloadField {
    package static let table = FieldTable<Self>()
    package static var distance: Quantity? { Optional(.distance) }
}

/// A batch on `locations/{device}`.
package typealias LocationBatch = ItemBatch<Location>

extension LocationField: PayloadField {
    package var key: String {
        switch self {
        case .latitude: "la"
        case .longitude: "lo"
        case .altitude: "al"
        case .horizontalAccuracy: "ac"
        case .verticalAccuracy: "va"
        case .speed: "v"
        case .course: "co"
        }
    }

    package static let table = FieldTable<Self>()
    package static var distance: LocationField? { nil }
}
