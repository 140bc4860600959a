import Bus
import Foundation
import ServiceKit
import TestSupport
import Testing
import Workouts

@testable import Client

@Suite struct CommandSenderTests {
    private let now = Moment(Timestamp(seconds: 1_700_000_000))
    private let client = Client("device-0123456789abcdef")!

    private func command(_ action: SessionAction) -> Command {
        Command(id: CommandID(UUID()), client: Client("an-older-process")!, at: now.wallClock, action: action)
    }

    private func connected(_ commands: [Command]) -> CommandSender {
        var sender = CommandSender(client: client, waiting: commands)
        sender.connected()
        return sender
    }

    private func reply(_ command: Command, _ refusal: Refusal? = nil) -> Reply {
        Reply(id: command.id, revision: 1, now: now.wallClock, error: refusal)
    }

    @Test func `one command is in flight, and this process receives its reply`() {
        let (pause, resume) = (command(.pause), command(.resume))
        var sender = connected([pause, resume])
        let sent = sender.takeDue(now)
        #expect(sent?.id == pause.id)
        #expect(sent?.client == client)
        #expect(sender.takeDue(now) == nil)
        #expect(sender.receiveReply(reply(pause), now) == .accepted(pause))
        #expect(sender.takeDue(now)?.id == resume.id)
    }

    @Test func `a refusal with retryAfter postpones every kind of command, also across connections`() {
        for action in [.start(SessionStart(activity: .running)), .pause, .end(streams: [:])] as [SessionAction] {
            let (first, later) = (command(action), command(.resume))
            var sender = connected([first, later])
            _ = sender.takeDue(now)
            let refusal = Refusal(code: "too_many_sessions", message: "later", retryAfter: 1_800)
            #expect(sender.receiveReply(reply(first, refusal), now) == .postponed(refusal))
            sender.disconnected()
            sender.connected()
            let sent = stride(from: 0.0, through: 1_810, by: 1).filter { sender.takeDue(now + $0) != nil }
            #expect(sent == [1_800, 1_805, 1_810])
            #expect(sender.receiveReply(reply(first), now) == .accepted(first))
            #expect(sender.takeDue(now + 1_811)?.id == later.id)
        }
    }

    @Test func `a second reply to a repeated command is ignored`() {
        let (pause, resume) = (command(.pause), command(.resume))
        var sender = connected([pause, resume])
        _ = sender.takeDue(now)
        _ = sender.receiveReply(reply(pause), now)
        _ = sender.takeDue(now)
        #expect(sender.receiveReply(reply(pause), now) == .nothing)
        #expect(!sender.isEmpty)
    }

    @Test func `a start during another session is repeated after 5 s`() {
        let start = command(.start(SessionStart(activity: .running)))
        let refusal = Refusal.sessionInProgress(SessionID(UUID()))
        var sender = connected([start])
        _ = sender.takeDue(now)
        #expect(sender.receiveReply(reply(start, refusal), now + 1) == .postponed(refusal))
        #expect(sender.takeDue(now + 5.9) == nil)
        #expect(sender.takeDue(now + 6)?.id == start.id)
    }

    @Test func `any other refusal is returned`() {
        let pause = command(.pause)
        let refusal = Refusal.invalidState("not now")
        var sender = connected([pause])
        _ = sender.takeDue(now)
        #expect(sender.receiveReply(reply(pause, refusal), now) == .refused(pause, refusal))
    }

    private var start: Command {
        command(.start(SessionStart(activity: .running)))
    }

    private func simulating(_ start: Command) -> CommandSender {
        var sender = CommandSender(client: client, waiting: [start], leavesStartToEngine: true)
        sender.connected()
        return sender
    }

    private func reply(_ command: Command, at: Timestamp) -> Reply {
        var reply = Reply(id: command.id, revision: 1, now: now.wallClock + 700)
        reply.at = at
        return reply
    }

    @Test func `a start that just happened takes the engine's time, and the reply shows the clock's offset`() {
        let start = start
        var sender = simulating(start)
        #expect(sender.takeDue(now + 0.05)?.at == nil)
        _ = sender.receiveReply(reply(start, at: now.wallClock + 600.25), now + 0.4)
        #expect(sender.clockOffset == 600.25)
        // A second start uses the clock that counted.
        sender.append(start)
        #expect(sender.takeDue(now + 20)?.at == now.wallClock + 600.25)
    }

    @Test(arguments: [600.25, 0]) func `a repeated start carries its time, and the reply shows which try counted`(
        offset: Double
    ) {
        let start = start
        var sender = simulating(start)
        _ = sender.takeDue(now)
        #expect(sender.takeDue(now + 5)?.at == now.wallClock)
        _ = sender.receiveReply(reply(start, at: now.wallClock + offset), now + 6)
        #expect(sender.clockOffset == offset)
    }

    @Test func `a start that waited for a connection keeps its time`() {
        let start = start
        var sender = simulating(start)
        #expect(sender.takeDue(now + 1.1)?.at == now.wallClock)
        #expect(sender.takeDue(now + 6.1)?.at == now.wallClock)
        _ = sender.receiveReply(reply(start, at: now.wallClock), now + 6.2)
        #expect(sender.clockOffset == 0)
    }

    @Test func `a recording's start keeps its time`() {
        var sender = connected([start])
        #expect(sender.takeDue(now)?.at == now.wallClock)
    }
}
