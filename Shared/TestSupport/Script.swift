package import Bus
import Foundation
package import MQTT
package import Workouts

/// The life of a session as messages.
package struct Script {
    package let key: SessionKey
    package var state: SessionState

    package init(_ user: String = "demo", start: Double = 1_700_000_000, session: SessionID = SessionID(UUID())) {
        key = SessionKey(User(user)!, session)
        let at = Timestamp(seconds: start)
        let session = Session(
            key: key, start: SessionStart(activity: .running, countdown: 0), at: at, now: at + 1_000)
        state = session.state(revision: 1)
    }

    package var stateMessage: MQTTMessage { Topic.session(key, .state).message(JSONCoding.encode(state)) }

    /// Publishes the state with new segments and status under the next revision.
    package mutating func change(_ status: SessionStatus, _ segments: [Segment]) -> MQTTMessage {
        state.revision += 1
        state.status = status
        state.segments = segments
        return stateMessage
    }

    /// Publishes the session's profile, which its next state names.
    package mutating func setProfile(_ profile: Profile) -> MQTTMessage {
        let revision = (state.profileRevision ?? 0) + 1
        state.profileRevision = revision
        return Topic.session(key, .profile).message(
            JSONCoding.encode(SessionProfile(revision: revision, profile: profile)))
    }

    /// A request for the chunks.
    package var chunkRequest: MQTTMessage {
        let request = SessionRequest(id: CommandID(UUID()), client: Client("reader")!, action: .chunks)
        return Topic.session(key, .request).message(JSONCoding.encode(request))
    }

    /// - Parameter asksAck: whether an acknowledgement follows at once.
    package func batch(_ device: String, _ first: Int, _ items: [Sample], asksAck: Bool = true) -> MQTTMessage {
        Topic.session(key, .samples(Device(device)!)).message(
            SampleBatch(first: first, items: items, asksAck: asksAck).payload)
    }

    package func batch(_ device: String, _ first: Int, _ items: [Location], asksAck: Bool = true) -> MQTTMessage {
        Topic.session(key, .locations(Device(device)!)).message(
            LocationBatch(first: first, items: items, asksAck: asksAck).payload)
    }
}

extension [MQTTMessage] {
    package func payloads(_ topic: Topic) -> [[UInt8]] { filter { $0.topic == topic.name }.map { [UInt8]($0.payload) } }

    package func acks(
        _ key: SessionKey, _ device: String, _ kind: StreamName.Kind = .samples
    ) throws -> [Ack] {
        try payloads(.session(key, kind.ack(Device(device)!))).map { try Ack($0) }
    }
}

/// The interpreter in `PYTHON` and its programs for tests.
package enum Python {
    package static let interpreter = ProcessInfo.processInfo.environment["PYTHON"] ?? "python3"

    /// The path of a program in this folder.
    static func program(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: name).path(percentEncoded: false)
    }

    /// Whether the interpreter or one of these modules is missing.
    package static func lacks(_ modules: String) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [interpreter, "-c", "import \(modules)"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return true }
        process.waitUntilExit()
        return process.terminationStatus != 0
    }
}

/// Prometheus's checker of metrics.
package enum Promtool {
    /// Returns the exit code and the output; `nil` without promtool.
    package static func check(_ text: String) throws -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        guard
            let tool = path.split(separator: ":").map({ "\($0)/promtool" })
                .first(where: FileManager.default.isExecutableFile)
        else { return nil }
        let process = Process()
        process.executableURL = URL(filePath: tool)
        process.arguments = ["check", "metrics"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try input.fileHandleForWriting.close()
        let printed = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return "exit \(process.terminationStatus)\n\(printed)"
    }
}
