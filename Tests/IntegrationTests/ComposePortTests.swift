import Foundation
import TestSupport
import Testing

/// The ports that `compose/up` chooses.
@Suite(.serialized, .timeLimit(.minutes(60)))
struct ComposePortTests {
    @Test func `a port that another process takes meanwhile is not trusted`() async throws {
        let compose = try ComposeSystem.folder()
        let real = try compose.program("route-builder")
        // Before the service listens, another process takes its first port and reports that it is ready.
        let decoy = """
            #!/usr/bin/env bash
            if [[ ! -e decoy ]]; then
                echo "$HTTP_PORT" >decoy
                (python3 -c 'import http.server, os, sys
            class Ready(http.server.BaseHTTPRequestHandler):
                def do_GET(self): self.send_response(200), self.end_headers()
            server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Ready)
            open("listening.new", "w").write(str(os.getpid()))
            os.rename("listening.new", "listening")
            server.serve_forever()' "$HTTP_PORT" || : >failed) &
                while [[ ! -e listening && ! -e failed ]]; do :; done
                # A third process had the port; the next one will do.
                if [[ -e failed ]]; then rm decoy failed; fi
            fi
            exec \(real)
            """
        try compose.replace("route-builder", by: decoy)
        let system = try await ComposeSystem.run(compose)
        defer { system.process.end(SIGTERM) }
        let taken = try String(contentsOfFile: compose.folder.file("decoy"), encoding: .utf8).filter(\.isNumber)
        let listener = try String(contentsOfFile: compose.folder.file("listening"), encoding: .utf8)
        defer { if let id = Int32(listener) { kill(id, SIGKILL) } }
        #expect(try system.url("route-builder") != "http://127.0.0.1:\(taken)")
        #expect(try await system.get("route-builder", "/metrics").contains("pacebus_route_"))
        #expect(try await system.command("status").status == 0)
    }

    @Test func `a service whose port another process had for a moment starts again`() async throws {
        let compose = try ComposeSystem.folder()
        let real = try compose.program("exporter")
        // The other process has left the port when compose/up looks.
        let decoy = """
            #!/usr/bin/env bash
            [[ -e taken ]] || exec python3 -c 'import os, socket, subprocess
            try: other = socket.create_server(("127.0.0.1", int(os.environ["HTTP_PORT"])))
            except OSError: os.execv("\(real)", ["\(real)"])
            open("taken", "w")
            subprocess.run(["\(real)"])'
            exec \(real)
            """
        try compose.replace("exporter", by: decoy)
        let system = try await ComposeSystem.run(compose)
        defer { system.process.end(SIGTERM) }
        #expect(system.output.contains("is in use; exporter tries the next"))
        #expect(try await system.get("exporter", "/metrics").contains("pacebus_export"))
        #expect(try await system.command("status").status == 0)
    }

    @Test func `two systems that start at once share no port, and a second one in the same folder is refused`()
        async throws
    {
        let systems = [try ComposeSystem(ComposeSystem.folder()), try ComposeSystem(ComposeSystem.folder())]
        defer { for system in systems { system.process.end(SIGTERM) } }
        for system in systems { try await system.started() }
        let urls = try systems.map { system in
            try String(contentsOfFile: system.compose.folder.file("data/run/urls"), encoding: .utf8)
                .split(separator: "\n").map { $0.split(separator: " ")[1] }
        }
        #expect(Set(urls[0]).isDisjoint(with: urls[1]))
        for system in systems { #expect(try await system.command("status").status == 0) }
        let second = try await systems[0].command("up")
        #expect(second.status == 1)
        #expect(second.output.contains("Pacebus runs in \(systems[0].compose.folder.path) already"))
        #expect(second.output.contains("compose/stop"))
    }

    @Test func `a port offset moves all ports, and an invalid one is named`() async throws {
        let refused = try ComposeSystem(ComposeSystem.folder(), environment: ["PORT_OFFSET=1e3"])
        #expect(await refused.process.finish() == 1)
        #expect(refused.output.contains("invalid PORT_OFFSET '1e3'; allowed: 0 to 20000"))

        let system = try await ComposeSystem.run(environment: ["PORT_OFFSET=15000"])
        defer { system.process.end(SIGTERM) }
        let urls = try String(contentsOfFile: system.compose.folder.file("data/run/urls"), encoding: .utf8)
        let ports = urls.split(separator: "\n").compactMap { URL(string: "\($0.split(separator: " ")[1])")?.port }
        #expect(ports.count > 8)
        #expect(ports.allSatisfy { $0 >= 16_883 })
    }

    @Test func `a TLS port in use is named; the next one is taken unless the port was chosen`() async throws {
        let compose = try ComposeSystem.folder()
        // Either this or another process has it.
        let holder = try? ChildProcess(
            ["python3", "-m", "http.server", "8883", "--bind", "127.0.0.1"], log: compose.folder.file("holder.log"))
        defer { holder?.end(SIGKILL) }
        try #require(await eventually { LoopbackSocket.accepts(port: 8883) })
        let refused = try ComposeSystem(
            compose, ["--listen", "127.0.0.1", "--tls-port", "8883"], environment: ["PORT_OFFSET=0"])
        #expect(await refused.process.finish() == 1)
        #expect(refused.output.contains("port 8883 of 127.0.0.1 is in use; choose another --tls-port"))
        try FileManager.default.removeItem(atPath: compose.folder.file("up.log"))

        let system = try await ComposeSystem.run(
            compose, ["--listen", "127.0.0.1"], environment: ["PORT_OFFSET=0"])
        defer { system.process.end(SIGTERM) }
        let port = try #require(try system.url("mqtts").split(separator: ":").last.flatMap { UInt16($0) })
        #expect(port > 8883)
        #expect(system.output.contains("Port 8883 is in use; mqtts listens on \(port)"))
        #expect(try await compose.run("user", "add", "anna").contains("mqtts://anna@127.0.0.1:\(port)"))
    }
}

extension ComposeFolder {
    /// The path of a service's program.
    fileprivate func program(_ name: String) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: folder.file(".build/bin/\(name)"))
    }

    fileprivate func replace(_ name: String, by script: String) throws {
        try FileManager.default.removeItem(atPath: folder.file(".build/bin/\(name)"))
        let path = try folder.write(script + "\n", to: ".build/bin/\(name)")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
}
