//! Programs that tell about the machine, its people and its processes. None of them needs the network.

use super::{ANY, Freedom::Pure, Operands::Words, Program, Style, program};
use crate::shell::script::small;

pub(super) const PROGRAMS: &[Program] = &[
    // Absent: -s, --set; an operand without a plus sign sets the clock.
    Program {
        options: "-d= -f=r -I? -r=r -R -u --date= --debug --file=r --iso-8601? --reference=r --resolution --rfc-email \
                  --rfc-3339= --utc --universal",
        operands: Words(1),
        check: Some(small::date),
        ..program("date")
    },
    Program {
        options: "-a -s -n -r -v -m -p -i -o --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --hardware-platform --operating-system",
        ..program("uname")
    },
    // Absent: names, which set it, and whatever asks a name server.
    Program { options: "-s -I --short --all-ip-addresses", ..program("hostname") },
    Program {
        options: "-a -g -G -n -r -u -z -Z --context --group --groups --name --real --user --zero",
        operands: Words(ANY),
        ..program("id")
    },
    Program {
        options: "-a -b -d -H -l -m -p -q -r -s -t -T -u -w --all --boot --count --dead --heading --login --message --process --runlevel --short --time --users",
        operands: Words(2),
        ..program("who")
    },
    Program { operands: Words(ANY), ..program("groups") },
    Program { ..program("whoami logname arch users lsmem") },
    Program { options: "-s --silent --quiet", ..program("tty") },
    Program { options: "--all --ignore=", ..program("nproc") },
    Program { options: "-p -s --pretty --since", ..program("uptime") },
    Program {
        options: "-h -s -f -o -i -u -c -p --short --no-header --from",
        operands: Words(1),
        ..program("w")
    },
    Program {
        options: "-b -k -m -g -h -w -t -l -s= -c= --bytes --kibi --mebi --gibi --human --wide --total --lohi --si --kilo --mega --giga",
        ..program("free")
    },
    Program {
        options: "-a -f -m -n -s -d -w -t -S= --active --forks --slabs --stats --disk --wide --timestamp",
        operands: Words(2),
        ..program("vmstat")
    },
    Program {
        options: "-e? -p? -a -b -c -J -x -y -r -B --all --extended? --parse? --json --online --offline --bytes",
        ..program("lscpu")
    },
    Program { options: "-v -vv -k -n -nn -t -D -mm -m -x -xxx -s= -d=", ..program("lspci") },
    Program {
        options: "-A -a -d -e -f -F -j -l -L -M -N -T -y -Z -w -c -x -h -H -m -r -s -S -v -u= -U= -p= -q= -t= -g= -G= -C= -o= -O= -k= --deselect \
                  --pid= --ppid= --user= --User= --group= --Group= --tty= --sid= --quick-pid= --format= --forest --headers \
                  --no-headers --no-heading --sort= --width= --cols= --columns= --rows= --cumulative --context",
        operands: Words(ANY),
        check: Some(small::ps),
        ..program("ps")
    },
    Program {
        options: "-a -c -d= -f -g= -G= -i -l -n -o -P= -s= -t= -u= -U= -v -w -x --list-name --list-full --count --delimiter= --full --pgroup= --group= --ignore-case --newest --oldest --parent= --session= --terminal= --euid= --uid= --inverse --exact",
        operands: Words(1),
        ..program("pgrep")
    },
    Program { options: "-s -c -q -x -w -o= -S=", operands: Words(ANY), ..program("pidof") },
    Program {
        options: "-a -A -c -g -G -h -H= -l -n -N -p -s -S -t -T -u -U -Z --arguments --ascii --compact-not --show-pgids --show-pids --numeric-sort --show-parents --long",
        operands: Words(1),
        ..program("pstree")
    },
    Program {
        options: "-b -c -d= -e= -H -i -n= -o= -O -p= -s -S -u= -U= -w? -1 -E=",
        needs: "-b",
        ..program("top")
    },
    // Absent: -c, -C, -D, -E, -n, which change the log, -H, which starts a pager, and -w.
    Program {
        options: "-d -e -f= -F=r -k -l= -L? -P -r -S -t -T -u -x --color? --ctime --decode --facility= --kernel --level= --notime --nopager --raw --reltime --show-delta --time-format= --userspace --since= --until=",
        ..program("dmesg")
    },
    // Absent: --rotate, --flush, --sync, --vacuum-*, --update-catalog, --setup-keys and hosts.
    Program {
        options: "-a -b? -e -k -l -m -n=n -o= -p= -q -r -S= -t= -u= -U= -x --all --boot? --dmesg --full --no-full --lines=n --list-boots --no-pager \
                  --output= --priority= --quiet --reverse --since= --until= --unit= --user-unit= --identifier= --catalog --no-hostname \
                  --system --user --utc --disk-usage --grep= -g= --case-sensitive?",
        operands: Words(ANY),
        ..program("journalctl")
    },
    // Absent: -K (ends connections), -D (writes), -F, -N, -r and filters, which look names up over the network.
    Program {
        options: "-0 -4 -6 -a -b -d -e -f= -A= -H -i -l -m -n -o -O -p -Q -s -S -t -u -w -x --all --dccp --extended --family= --info --ipv4 \
                  --ipv6 --listening --memory --no-header --no-queues --numeric --oneline --options --packet --processes --query= --raw \
                  --sctp --summary --tcp --udp --unix",
        ..program("ss")
    },
    // Without -n it looks names up over the network. Absent: -c, which never ends.
    Program {
        options: "-4 -6 -a -e -g -i -l -n -o -p -r -s -t -u -v -w -W -x --all --extend --groups --inet --inet6 --interfaces --listening \
                  --numeric --program --programs --raw --route --statistics --tcp --timers --udp --unix --verbose --wide",
        needs: "-n --numeric",
        ..program("netstat")
    },
    // Absent: -d, which looks names up over the network.
    Program {
        options: "-a -f=r -F -i -n= -R -s= -t= -w -x --file=r --fulltimes --fullnames --limit= --nohostname --since= --system --until= \
                  --time-format=",
        operands: Words(ANY),
        digits: true,
        ..program("last")
    },
    Program {
        options: "-a -c -d -i -r -s --all --codename --description --id --release --short",
        ..program("lsb_release")
    },
    Program {
        options: "-a -d -e -l -r -s= -w --and --exact --long --regex --sections= --wildcard",
        operands: Words(ANY),
        ..program("whatis apropos")
    },
    Program { freedom: Pure, ..program("sleep") },
    Program { options: "-0 --null", operands: Words(ANY), ..program("printenv") },
    Program {
        options: "-a -c -k -m --all-locales --category-name --keyword-name --charmaps",
        operands: Words(ANY),
        ..program("locale")
    },
    Program { options: "-a -v=", operands: Words(2), ..program("getconf") },
    // Other databases are looked up over the network.
    Program { operands: Words(ANY), check: Some(small::getent), ..program("getent") },
    Program {
        options: "-a -A -b -e -N -n -q -r= --all --values --names --ignore --quiet --pattern= --deprecated",
        operands: Words(ANY),
        check: Some(small::sysctl),
        ..program("sysctl")
    },
    Program { options: "-l", needs: "-l", ..program("crontab") },
    Program { operands: Words(1), check: Some(small::tput), ..program("tput") },
    Program {
        options: "-l -L -s -S -p -c -V --list --listfiles --status --search --print-avail --get-selections --print-architecture --no-pager",
        operands: Words(ANY),
        needs: "-l -L -s -S -p --list --listfiles --status --search --print-avail --get-selections --print-architecture",
        ..program("dpkg")
    },
    Program {
        options: "-W -l -L -s -S -p -f= --show --list --listfiles --status --search --print-avail --showformat= --no-pager",
        operands: Words(ANY),
        needs: "-W -l -L -s -S -p --show --list --listfiles --status --search --print-avail",
        ..program("dpkg-query")
    },
    Program {
        options: "-q -a -i -l -f -c -d -s --query --all --info --list --file --changelog --docfiles --state --requires --provides --last",
        operands: Words(ANY),
        needs: "-q --query",
        check: Some(small::no_url),
        ..program("rpm")
    },
    Program {
        options: "-version --version -showversion -fullversion --show-version",
        style: Style::Long,
        needs: "-version --version -showversion -fullversion --show-version",
        ..program("java javac")
    },
    // Without of= it writes to the standard output.
    Program { raw: Some(small::dd), ..program("dd") },
];
