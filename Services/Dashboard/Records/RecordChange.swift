import Bus
import Storage
import Workouts

/// A change of one whole record. A later change of the same record replaces an earlier one.
struct RecordChange: Equatable, Sendable {
    struct Key: Hashable, Sendable {
        let collection: StoreCollection
        let key: String
    }

    let key: Key
    /// `nil` to delete the record.
    let value: [UInt8]?

    var bytes: Int { key.key.utf8.count + (value?.count ?? 0) }

    static func put(_ collection: StoreCollection, _ key: String, _ value: some Encodable) -> RecordChange {
        RecordChange(key: Key(collection: collection, key: key), value: JSONCoding.encode(value))
    }

    static func delete(_ collection: StoreCollection, _ key: String) -> RecordChange {
        RecordChange(key: Key(collection: collection, key: key), value: nil)
    }
}

extension StoreCollection {
    static let logins = StoreCollection("logins")
    static let browsers = StoreCollection("browsers")
    /// The totals of finished workouts.
    static let workouts = StoreCollection("workouts")
    /// Commands and requests of persons, until a day after their reply.
    static let presses = StoreCollection("presses")
}
