import Bus
import Foundation
import TestSupport
import Workouts

extension SeededRandom {
    /// Payloads of imports.
    mutating func importPayloads() -> [AsyncAPIDocument.Payload] {
        let actions: [ImportRequest.Action] = [
            .log(identifier()), .skip(identifier()), .retry(identifier()), .cancel(identifier()),
            .list(before: maybe(time())),
        ]
        let requests = actions.map { ImportRequest(id: identifier(), client: maybe(name()), action: $0) }
        let content = Data((0..<Int.random(in: 1...300_000, using: &self)).map { UInt8(truncatingIfNeeded: $0) })
        let workout = ImportPart.Workout(name: maybe("Lauf"), activity: maybe(.running))
        let parts = ImportPart.all(of: content, name: "Run.fit", workout: maybe(workout))
        let acks = [
            ImportAck(n: parts.count),
            ImportAck(n: 0, error: Refusal(code: "too_many_imports", message: "wait", retryAfter: maybe(10))),
        ]
        return requests.map { .init(channel: "importRequest", bytes: JSONCoding.encode($0)) }
            + importStatuses().map { .init(channel: "import", bytes: JSONCoding.encode($0)) }
            + parts.map { .init(channel: "importParts", bytes: JSONCoding.encode($0)) }
            + acks.map { .init(channel: "importAck", bytes: JSONCoding.encode($0)) }
    }

    mutating func importStatuses() -> [ImportStatus] {
        ImportStatus.Status.allCases.map { status in
            var message = ImportStatus(
                id: identifier(), revision: revision(), status: status, name: "Lauf.gpx",
                bytes: .random(in: 1...1 << 25, using: &self), at: time())
            message.progress = maybe(.random(in: 0...1, using: &self))
            message.sessions = (0..<Int.random(in: 0...3, using: &self)).map { _ in identifier() }
            message.reason = maybe("'Lauf.gpx' has no track")
            message.remarks = maybe(["the file is cut off at line 7"])
            message.match = maybe(identifier())
            return message
        }
    }
}
