import Bus
import Client
import Formats
import Foundation
import MQTT
import ServiceKit
import Workouts

/// Asks the exporter for a workout's file, part by part. A value without a clock.
struct FileFetch {
    /// Seconds without news: the exporter itself gives up collecting after a minute.
    static let timeout = 75.0
    /// Seconds for which the exporter may not know the workout: it may have ended just now.
    static let unknownTimeout = 15.0
    /// How often the workout may change while it is read.
    static let changeLimit = 10

    let key: SessionKey
    private let format: ExportFormat
    private let client: Client
    private let makeID: @Sendable () -> CommandID
    private var request: SessionRequest
    private var repeated: RepeatedRequest
    private var newsAt: Moment
    /// When the exporter first said that it does not know the workout.
    private var unknownSince: Moment?
    private var state: SessionState?
    /// The first part received of the newest revision, and how many other revisions came before.
    private var head: FilePart?
    private var changes = 0
    /// The parts before this one are in the file.
    private var next = 0
    private var file: OpenFile?
    /// Parts from `next` on.
    private var parts: [Int: Data] = [:]

    init(
        _ key: SessionKey, _ format: ExportFormat, client: Client, now: Moment,
        makeID: @escaping @Sendable () -> CommandID = { CommandID(UUID()) }
    ) {
        (self.key, self.format, self.client, self.makeID) = (key, format, client, makeID)
        newsAt = now
        request = SessionRequest(id: makeID(), client: client, action: .file(format: format.rawValue, from: 0))
        repeated = Self.repeated(isConnected: false)
    }

    private static func repeated(isConnected: Bool) -> RepeatedRequest {
        RepeatedRequest(passingCodes: [Refusal.sessionNotFound.code], isConnected: isConnected)
    }

    var subscriptions: [MQTTSubscription] {
        [TopicFilter.topic(.user(key.user, .replies(client))), TopicFilter.topic(.session(key, .state))]
    }

    mutating func connected(_ now: Moment) {
        repeated.connect()
        // The timeout begins again with each connection.
        newsAt = now
    }

    mutating func disconnected() { repeated.disconnect() }

    /// The request to send now, if it is due.
    ///
    /// - Throws: after a timeout.
    mutating func takeRequest(_ now: Moment) throws(FetchFailure) -> MQTTMessage? {
        guard now.seconds(since: newsAt) < Self.timeout else {
            throw repeated.isConnected ? .noAnswer : .noConnection
        }
        if let unknownSince {
            if let state { try Self.checkThatOver(state) }
            guard now.seconds(since: unknownSince) < Self.unknownTimeout else { throw .noWorkout(key) }
        }
        guard repeated.takeTurn(now) else { return nil }
        return Topic.session(key, .request).message(JSONCoding.encode(request))
    }

    /// Handles a message.
    mutating func receive(_ message: MQTTMessage, _ now: Moment) throws(FetchFailure) {
        guard !message.payload.isEmpty else { return }
        switch Topic(message.topic) {
        case .session(_, .state):
            state = try read(message) { bytes throws(PayloadError) in try SessionState(bytes) }
            if case .deleted = state?.status { throw .deleted(key) }
        case .user(_, .replies):
            let reply = try read(message) { bytes throws(PayloadError) in
                try JSONCoding.decode(Reply.self, from: bytes)
            }
            guard reply.id == request.id else { return }
            if let refusal = reply.error { return try receiveRefusal(refusal, now) }
            guard let part = reply.file, isValid(part) else {
                throw .invalidMessage(topic: message.topic, "not a part of the file that was asked for")
            }
            newsAt = now
            unknownSince = nil
            try receivePart(part)
        default: break
        }
    }

    private func read<Payload>(
        _ message: MQTTMessage, _ decode: (ArraySlice<UInt8>) throws(PayloadError) -> Payload
    ) throws(FetchFailure) -> Payload {
        do throws(PayloadError) {
            return try decode(message.payload)
        } catch {
            throw .invalidMessage(topic: message.topic, error.text)
        }
    }

    /// The file, once it is whole, and one of its parts.
    var result: (file: OpenFile, part: FilePart)? {
        guard let file, let head, next == head.of else { return nil }
        return (file, head)
    }

    /// The progress to print.
    var progress: String {
        guard let head else { return "waiting for the exporter" }
        return "\((next + parts.count) * 100 / head.of) %"
    }
}

extension FileFetch {
    private mutating func receiveRefusal(_ refusal: Refusal, _ now: Moment) throws(FetchFailure) {
        guard case .refused(let refusal) = repeated.receiveReply(refusal, now) else {
            if refusal.code == Refusal.sessionNotFound.code { unknownSince = unknownSince ?? now } else { newsAt = now }
            return
        }
        // The file has become shorter.
        if refusal.code == Refusal.invalidCommand("").code, next > 0 { return try beginAgain() }
        throw .refused(key, refusal)
    }

    /// The workout has changed: its first parts are others now.
    private mutating func beginAgain() throws(FetchFailure) {
        changes += 1
        guard changes < Self.changeLimit else { throw .unsettled }
        (head, next, file, parts) = (nil, 0, nil, [:])
        ask(from: 0)
    }

    /// Whether a part answers the request, and its name is that of a file of the workout.
    private func isValid(_ part: FilePart) -> Bool {
        guard case .file(_, let from) = request.action, part.of > 0, let named = ExportFile("\(key.user)/\(part.name)")
        else { return false }
        let isLast = part.n == part.of - 1
        return named.key == key && named.format == format
            && FilePart.window(from: from, of: part.of).contains(part.n)
            && (isLast ? 1...FilePart.size : FilePart.size...FilePart.size).contains(part.x.count)
    }

    private mutating func receivePart(_ part: FilePart) throws(FetchFailure) {
        if let head, (head.workout, head.of, head.name) != (part.workout, part.of, part.name) {
            return try beginAgain()
        }
        head = head ?? part
        if part.n >= next { parts[part.n] = part.x }
        let window = FilePart.window(from: next, of: part.of)
        guard window.allSatisfy({ parts[$0] != nil }) else { return }
        do {
            let file = try file ?? OpenFile.temporary(in: FileManager.default.temporaryDirectory.path)
            for number in window { try file.append([UInt8](parts[number] ?? Data())) }
            self.file = file
        } catch {
            throw .notStored("\(error)")
        }
        next = window.upperBound
        parts = [:]
        if next < part.of { ask(from: next) }
    }

    private mutating func ask(from start: Int) {
        request = SessionRequest(
            id: makeID(), client: client, action: .file(format: format.rawValue, from: start))
        repeated = Self.repeated(isConnected: repeated.isConnected)
    }

    private static func checkThatOver(_ state: SessionState) throws(FetchFailure) {
        if state.status.isUnfinished { throw .unfinished(state.key, state.status) }
        if state.status == .canceled { throw .canceled(state.key, reason: state.endReason ?? "unknown") }
    }
}
