package import MQTT
package import Workouts

/// The answer to a command or request, on `replies/{client}`. It is sent after the change is on disk.
package struct Reply: Codable, Hashable, Sendable {
    package var id: CommandID
    package var ok: Bool
    /// The revision of the session's `state` after the command.
    package var revision: Int64?
    /// The engine's clock. A device with a wrong clock can correct its own.
    package var now: Timestamp
    /// The time at which the command takes effect.
    package var at: Timestamp?
    package var error: Refusal?
    /// The requested page of history, newest first.
    package var workouts: [WorkoutOverview]?
    /// The requested changes of workouts, oldest first.
    package var changes: [WorkoutChange]?
    /// For a page: the position of its last workout, absent on the last page. For changes: the cursor of the next request.
    package var next: HistoryCursor?
    /// Whether more changes follow now.
    package var more: Bool?
    /// Set if the cursor is none of this history: the changes begin at the start, and the reader drops its copy.
    package var reset: Bool?
    /// A part of the requested file.
    package var file: FilePart?
    /// The requested page of virtual runs, newest first.
    package var runs: [RunOverview]?
    /// The routes that participants of a virtual run share.
    package var routes: [RunRoute]?
    /// The splits of all its runners.
    package var splits: [RunSplits]?
    /// The requested imports that are over, newest first.
    package var imports: [ImportStatus]?

    package init(id: CommandID, revision: Int64?, now: Timestamp, error: Refusal? = nil) {
        self.id = id
        ok = error == nil
        self.revision = revision
        self.now = now
        self.error = error
    }

    /// The message to a user's client; none if nothing reads the reply.
    package func messages(to user: User, _ client: Client?) -> [MQTTMessage] {
        client.map { [Topic.user(user, .replies($0)).message(JSONCoding.encode(self))] } ?? []
    }

    /// The reply to a payload that cannot be read; `nil` unless its id and its client can.
    package static func refusing(
        _ payload: ArraySlice<UInt8>, _ error: PayloadError, now: Timestamp
    ) -> (client: Client, reply: Reply)? {
        guard error.kind == .malformed,
            let envelope = try? JSONCoding.decode(Command.Envelope.self, from: payload), let client = envelope.client
        else { return nil }
        return (client, Reply(id: envelope.id, revision: nil, now: now, error: .invalidCommand(error.text)))
    }
}
