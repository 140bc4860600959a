import Bus
package import MQTT
package import Storage
package import Workouts

/// A machine whose sessions or users belong to shards. Its actions go through an ``Outbox``.
package protocol OwningMachine {
    associatedtype Action: OwnedAction

    /// Roughly the bytes that the machine keeps for pending actions alone. They count towards ``Outbox/pendingLimit``.
    var pendingBytes: Int { get }

    /// What the action changes in the store, from the machine's present state; empty when it changes nothing any more.
    ///
    /// The outbox adds the action's shard and epoch.
    func writes(for action: Action) -> [PendingWrite]

    /// What the action publishes, from the machine's present state.
    ///
    /// The outbox calls it once for each action: after the commit, or without one for an action that needs none. So the
    /// machine can also remove here what it kept until the commit.
    mutating func messages(for action: Action) -> [MQTTMessage]

    /// Removes everything that belongs to shards of another process.
    mutating func drop(_ shards: Set<Shard>)

    /// Publishes the retained topics of some shards: from now on, messages about them arrive.
    mutating func announce(_ shards: Set<Shard>, now: Moment) -> [Action]

    /// Publishes all retained topics on a new connection, which brings no echoes of the old one.
    mutating func connected(now: Moment) -> [Action]

    /// No messages arrive until the next connection.
    mutating func disconnected(now: Moment) -> [Action]

    /// Applies the time: what has become due by now.
    mutating func advance(to now: Moment) -> [Action]
}

extension OwningMachine {
    package var pendingBytes: Int { 0 }

    package mutating func disconnected(now: Moment) -> [Action] { [] }
}

/// One thing that a machine wants done.
package protocol OwnedAction: Hashable, Sendable {
    /// The shard that the action belongs to; `nil` when it belongs to the whole process, such as a log message.
    var shard: Shard? { get }
    var urgency: Urgency { get }
}

/// What happens to an action whose commit fails.
package enum Urgency: Sendable {
    /// It stays pending until a commit succeeds.
    case afterCommit
    /// It is dropped, because its sender sends again, as a client does without a reply.
    case dropIfRefused
    /// It is performed all the same, because it depends on nothing in the store.
    case now
}

extension StoreWrite {
    /// Changes nothing: its commit shows whether this process still owns the shard.
    package static func fence(_ shard: Shard, _ epoch: Epoch, _ collection: StoreCollection) -> StoreWrite {
        // No record has this key.
        StoreWrite(shard: shard, epoch: epoch, collection: collection, change: .delete(key: "fence"))
    }
}

/// One change to the store that waits for a commit.
package struct PendingWrite: Equatable, Sendable {
    let collection: StoreCollection
    let change: StoreWrite.Change

    package init(_ collection: StoreCollection, _ change: StoreWrite.Change) {
        self.collection = collection
        self.change = change
    }

    /// Writes a value as JSON.
    package static func put(
        _ collection: StoreCollection, _ key: some CustomStringConvertible, _ value: some Encodable
    ) -> PendingWrite {
        PendingWrite(collection, .put(key: "\(key)", value: JSONCoding.encode(value)))
    }

    package static func delete(_ collection: StoreCollection, _ key: some CustomStringConvertible) -> PendingWrite {
        PendingWrite(collection, .delete(key: "\(key)"))
    }

    package static func deleteFolder(
        _ collection: StoreCollection, _ path: some CustomStringConvertible
    ) -> PendingWrite {
        PendingWrite(collection, .deleteFolder(path: "\(path)"))
    }
}
