import Bus
import Client
import Formats
import Foundation
import MQTT
import ServiceKit
import Workouts

/// Logs the workouts of a file one after the other, by the code of the reference client.
///
/// The file is its queue: a process that was killed begins again, with the same items under the same numbers and the same
/// commands under the same ids, which count once.
struct ImportPlayer {
    enum Event {
        case nothing
        case progress(Double)
        /// The workout at this position of the file is finished.
        case finished(Int)
        /// The session cannot begin or continue now. The player is no longer needed.
        case waits(String, seconds: Double)
        /// The workout is deleted; whether it was already when it began to be logged.
        case lost(Int, wasThere: Bool)
        case refused(String)
    }

    private struct Part {
        let index: Int
        let session: ImportedSession
        let file: RecordingFile
        /// Of the session.
        let name: String?
    }

    /// How often a session is begun again that the engine lost.
    private static let restarts = 3
    private static let waitInterval = 30.0

    let key: ImportKey
    private let client: Client
    private let parts: [Part]
    private var place = 0
    private var contents = QueueContents()
    private var playback: Playback
    private var isConnected = false
    /// Whether the engine had the session before, and not the ids of its commands.
    private var isKnown = false
    private var restartCount = 0

    /// Returns `nil` if all workouts are logged.
    init?(_ key: ImportKey, _ record: ImportRecord, _ files: [RecordingFile], client: Client, now: Moment) {
        parts = record.sessions(of: key.user).enumerated().compactMap { index, session in
            guard index < files.count, !record.workouts[index].isLogged else { return nil }
            return Part(
                index: index, session: session, file: files[index],
                name: files.count == 1 ? record.workout?.name : nil)
        }
        guard let first = parts.first else { return nil }
        (self.key, self.client) = (key, client)
        contents = Self.contents(first)
        playback = Self.playback(first, contents, client, now)
    }

    /// The session that is being logged.
    var session: SessionKey { parts[place].session.key }

    /// The items of the workout that is being logged.
    var itemCount: Int { playback.itemCount }

    private var progress: Double {
        let share = playback.itemCount > 0 ? Double(playback.acknowledgedCount) / Double(playback.itemCount) : 0
        return ((Double(place) + share) / Double(parts.count) * 1_000).rounded() / 1_000
    }

    // MARK: Playback

    /// All items and commands of a workout, nothing of it sent.
    private static func contents(_ part: Part) -> QueueContents {
        // Shared with the recording: of a large file, they are most of the memory.
        let (samples, locations) = (part.file.recording.samples, part.file.recording.locations)
        var commands: [(at: Timestamp, action: SessionAction)] = []
        let steps = part.file.recording.commands
        for step in steps {
            switch step.kind {
            case .sample, .location: break
            case .command(.start(var start)):
                // The session is over: it needs no place among the unfinished ones.
                start.endAt = steps.last?.at
                start.name = part.name
                commands.append((step.at, .start(start)))
            case .command(.end):
                var streams = [StreamName(.samples, Device.importer): samples.count]
                if !locations.isEmpty { streams[StreamName(.locations, Device.importer)] = locations.count }
                commands.append((step.at, .end(streams: streams)))
            case .command(let action): commands.append((step.at, action))
            }
        }
        var contents = QueueContents()
        contents.commands = commands.enumerated().map { index, command in
            Command(id: part.session.command(index), client: nil, at: command.at, action: command.action)
        }
        do throws(PayloadError) {
            if !samples.isEmpty { try contents.add(.samples(SampleBatch(first: 0, items: samples))) }
            if !locations.isEmpty { try contents.add(.locations(LocationBatch(first: 0, items: locations))) }
        } catch {
            preconditionFailure("the first items of a stream have no predecessors: \(error)")
        }
        return contents
    }

    private static func playback(
        _ part: Part, _ contents: QueueContents, _ client: Client, _ now: Moment
    ) -> Playback {
        let header = QueueHeader(
            user: part.session.key.user, session: part.session.key.session, device: Device.importer,
            beganAt: now.wallClock, source: .recording(fingerprint: part.file.fingerprint))
        return Playback(
            header: header, contents: contents, steps: [Step]().makeIterator(),
            pace: Pace(beganAt: now, origin: part.file.recording.start, speed: 0), client: client,
            newID: { CommandID(UUID()) })
    }

    private mutating func restart(_ now: Moment) {
        playback = Self.playback(parts[place], contents, client, now)
        if isConnected { playback.connected() }
    }

    // MARK: The bus

    mutating func connected() {
        isConnected = true
        playback.connected()
    }

    mutating func disconnected() {
        isConnected = false
        playback.disconnected()
    }

    mutating func takeOutgoing(_ now: Moment) -> [MQTTMessage] { playback.takeOutgoing(now) }

    mutating func receiveMessage(_ message: MQTTMessage, _ reply: Reply?, _ now: Moment) -> Event {
        if let reply, let refusal = reply.error, contents.commands.contains(where: { $0.id == reply.id }),
            refusal.retryAfter != nil || refusal.code == Refusal.sessionInProgressCode
        {
            let reason =
                refusal.code == Refusal.sessionInProgressCode
                ? "it overlaps a session that is not over: \(refusal.message)" : refusal.message
            return .waits(reason, seconds: max(refusal.retryAfter ?? 0, Self.waitInterval))
        }
        switch playback.receiveMessage(message, now) {
        case .nothing, .remark: break
        case .note:
            if playback.outcome == nil { return .progress(progress) }
        case .takeBack(let kind, let number): _ = playback.takeBack(kind, from: number, contents)
        case .fail(.stream(.tooManyItems(_, let retryAfter?)), _):
            let minutes = (retryAfter + 59) / 60
            return .waits(
                "the services take no more items for now, because a limit is reached; it goes on in \(minutes) min",
                seconds: Double(retryAfter))
        case .fail(.stream(let failure), _): return .refused("the items of the file are refused: \(failure)")
        case .fail(.refused(.start, let refusal), _) where !isKnown && refusal.retryAfter == nil:
            // The engine has a session of this id and has removed its replies.
            isKnown = true
            contents.replied = Set(contents.commands.map(\.id))
            restart(now)
        case .fail(.refused(let action, let refusal), _):
            return .refused("the workout is refused at its \(action.name): \(refusal.message)")
        }
        switch playback.outcome {
        case nil: return .nothing
        case .finished?: return .finished(parts[place].index)
        case .discarded?, .deleted?: return .lost(parts[place].index, wasThere: isKnown)
        case .missed(let refusal)?: return .refused(refusal.message)
        case .notSynced?:
            restartCount += 1
            guard restartCount <= Self.restarts else {
                return .waits("session-engine does not have the session", seconds: Self.waitInterval)
            }
            isKnown = false
            contents.replied = []
            restart(now)
            return .nothing
        }
    }

    /// Goes on with the next workout of the file; returns whether there is one.
    mutating func advance(_ now: Moment) -> Bool {
        guard place + 1 < parts.count else { return false }
        place += 1
        (isKnown, restartCount) = (false, 0)
        contents = Self.contents(parts[place])
        restart(now)
        return true
    }
}
