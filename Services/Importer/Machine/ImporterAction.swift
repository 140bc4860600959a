import Bus
import Foundation
import MQTT
import ServiceKit
import Storage
import Workouts

/// An effect that the machine requests.
enum ImporterAction: Hashable {
    /// Saves the record as it is at the time of the commit.
    case save(ImportKey)
    /// Saves a received part.
    case savePart(ImportKey, Int)
    case eraseParts(ImportKey)
    /// Saves which generations of a file's workouts were logged.
    case saveContent(ImportKey)
    /// Moves an import that is over to the list of those.
    case archive(ImportKey, ImportRecord)
    /// Removes an old one from that list.
    case forget(StoreKey)
    /// Publishes the status; without a record it clears the topic.
    case publish(ImportKey)
    /// Acknowledges the parts that are stored.
    case acknowledge(ImportKey)
    /// Answers a part of an import that has no record.
    case refuse(ImportKey, Refusal?)
    /// Erases all that is stored of a user who deleted everything at a time.
    case eraseUser(User, Timestamp)
    case reply(User, Client?, Reply)
    /// Reads the imports of a user that are over and replies.
    case answerList(User, ImportRequest.Envelope)
    /// Saves what an account has used of its quota; `nil` erases it.
    case saveUse(StoreKey, [UInt8]?)
}

extension ImportRequest {
    /// What a reply to a list needs.
    struct Envelope: Hashable {
        let id: CommandID
        let client: Client?
        let before: Timestamp?
    }
}

extension ImporterAction: OwnedAction {
    var shard: Shard? {
        switch self {
        case .save(let key), .savePart(let key, _), .eraseParts(let key), .saveContent(let key),
            .archive(let key, _), .publish(let key), .acknowledge(let key), .refuse(let key, _):
            key.user.shard
        case .reply(let user, _, _), .answerList(let user, _), .eraseUser(let user, _): user.shard
        case .forget(let key), .saveUse(let key, _): key.shard
        }
    }

    var urgency: Urgency {
        switch self {
        case .save, .savePart, .eraseParts, .saveContent, .archive, .forget, .publish, .acknowledge, .eraseUser,
            .saveUse:
            .afterCommit
        // A client that gets no reply sends its request or part again.
        case .reply, .answerList, .refuse: .dropIfRefused
        }
    }
}

extension ImporterMachine: OwningMachine {
    var pendingBytes: Int { parts.values.reduce(0) { $0 + $1.values.reduce(0) { $0 + $1.count } } }

    func writes(for action: ImporterAction) -> [PendingWrite] {
        switch action {
        case .save(let key): entries[key].map { [.put(ImportRecord.imports, key, $0.record)] } ?? []
        case .savePart(let key, let number):
            parts[key]?[number].map {
                [PendingWrite(ImportRecord.parts, .put(key: Self.part(key, number), value: [UInt8]($0)))]
            } ?? []
        case .eraseParts(let key): [.deleteFolder(ImportRecord.parts, key)]
        case .saveContent(let key):
            entries[key].flatMap { entry in
                entry.record.fingerprint.map {
                    [
                        .put(
                            ImportRecord.contents, "\(key.user)/\($0)", entry.record.workouts.map(\.generation))
                    ]
                }
            } ?? []
        case .archive(let key, let record):
            [
                .put(ImportRecord.ended, Self.ended(key, record.changedAt), record),
                .delete(ImportRecord.imports, key), .deleteFolder(ImportRecord.parts, key),
            ]
        case .forget(let key): [.delete(ImportRecord.ended, key.key)]
        case .eraseUser(let user, let time):
            [ImportRecord.imports, ImportRecord.parts, ImportRecord.contents, ImportRecord.ended].map {
                .deleteFolder($0, user)
            } + [.put(ImportRecord.erasures, user, time)]
        case .saveUse(let key, let value?):
            [PendingWrite(DailyQuota.collection, .put(key: key.key, value: value))]
        case .saveUse(let key, nil): [.delete(DailyQuota.collection, key.key)]
        case .publish, .acknowledge, .refuse, .reply, .answerList: []
        }
    }

    /// The key of a part: numbers have as many digits, so that their order is that of the keys.
    static func part(_ key: ImportKey, _ number: Int) -> String {
        "\(key)/\(String(repeating: "0", count: 7 - String(number).count))\(number)"
    }

    /// The key of an import that is over, by time.
    static func ended(_ key: ImportKey, _ moment: Moment) -> String {
        "\(key.user)/\(digits(moment.wallClock))/\(key.id)"
    }

    static func digits(_ time: Timestamp) -> String {
        let text = String(max(0, time.milliseconds))
        return String(repeating: "0", count: max(0, 14 - text.count)) + text
    }

    mutating func messages(for action: ImporterAction) -> [MQTTMessage] {
        switch action {
        case .savePart(let key, let number):
            parts[key]?[number] = nil
            if parts[key]?.isEmpty == true { parts[key] = nil }
            return []
        case .publish(let key): return [message(of: key)]
        case .acknowledge(let key):
            guard let record = entries[key]?.record else { return [] }
            // Nothing more is wanted of an import that is over.
            return [Self.ack(key, ImportAck(n: record.status.isOver ? record.of : record.received))]
        case .refuse(let key, let refusal): return [Self.ack(key, ImportAck(n: 0, error: refusal))]
        case .reply(let user, let client, let reply): return reply.messages(to: user, client)
        case .save, .eraseParts, .saveContent, .archive, .forget, .eraseUser, .answerList, .saveUse: return []
        }
    }

    private static func ack(_ key: ImportKey, _ ack: ImportAck) -> MQTTMessage {
        Topic.user(key.user, .importAck(key.id)).message(JSONCoding.encode(ack))
    }

    mutating func drop(_ shards: Set<Shard>) {
        for key in entries.keys where shards.contains(key.user.shard) { evict(key) }
        parts = parts.filter { !shards.contains($0.key.user.shard) }
        quota.drop(shards)
    }
}
